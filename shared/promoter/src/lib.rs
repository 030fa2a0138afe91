//! The promoter moves visitors from the line into the protected service, at the pace of each queue.
//!
//! Every second it runs one [tick](vestibule_engine::tick) for each queue, and after it
//! [flushes](vestibule_engine::flush) the queue's journal to the backup. Every few seconds it
//! [syncs](vestibule_engine::sync) the settings. Every few minutes it runs one
//! [consistency check](vestibule_engine::check), which compares the line with the backup.
//!
//! A queue that has been empty for a while is parked: it is ticked only once a minute, and its settings
//! are read only when they have changed. So thousands of empty queues cost the line next to nothing.
//!
//! [`Promoter::run`] is the loop around these steps, and it is simple on purpose. All queues run in
//! parallel. Each step has its own timeout. The loop skips a queue whose previous step is still
//! running, so a slow queue delays no other queue.
//!
//! Where an event bus is set, it also tells the bus what changes in each queue, such as its opening. No other
//! step waits for that.
//!
//! Any number of promoters may run at the same time, because the number of promoted entries depends
//! only on the time and the state of the line. While no promoter runs, a request runs a fallback
//! tick ([`fallback_tick`](vestibule_engine::fallback_tick)).

mod all_queues;
mod announcements;
mod announcer;
mod checks;
mod clock_watch;
mod deleted_queues;
mod deletions;
pub mod event_bus;
mod eviction;
mod park;
mod parked_queue;
mod parked_queues;
mod probes;
mod queue_health;
mod queue_registry;
mod queue_steps;
mod report;
mod run;
mod send_backoff;
mod step_outcomes;
mod steps;
mod tally_schedule;
#[cfg(test)]
mod tests;

pub use run::{Promoter, before_deadline};
