//! The line in memory: for one process on a laptop and for simulations.
//!
//! It also is the readable specification of the rules that the scripts in `vestibule-line-redis`
//! follow. Its state does not survive the process. Only what is in the backup does, and the
//! [checkpoint](QueueCheckpoint) of a queue that was stopped in order.

mod absences;
mod account;
mod adaptive_pace;
mod adopt;
mod budgets;
mod call_counts;
mod change_kind;
mod check;
mod check_in;
mod check_progress;
mod checkpoint;
mod chosen_entries;
mod clock;
mod closed_pages;
mod configure;
mod deadline_set;
mod deletion;
mod departures;
mod dismissals;
mod dropped_queue;
mod ended_entries;
mod enter;
mod entering_limits;
mod entry_promotion;
mod entry_sets;
mod eviction;
mod fallback_tick;
mod held_poll_leases;
mod held_slots;
mod journal;
mod journal_steps;
#[cfg(feature = "given-time")]
mod lane_dump;
mod lane_moves;
mod lanes;
mod line;
mod loss;
mod memory_line;
mod opening;
mod overlong_waits;
mod pending_report;
mod preflight_line;
mod presence;
mod presence_tick;
mod promote;
mod queue;
#[cfg(feature = "given-time")]
mod queue_dump;
mod queues;
mod report;
mod restore;
mod tally;
mod tally_counter;
mod transitions;
mod waiting;

#[cfg(feature = "given-time")]
pub use self::queue_dump::QueueDump;
pub use self::{
    checkpoint::{CheckpointMismatch, QueueCheckpoint},
    memory_line::MemoryLine,
};
