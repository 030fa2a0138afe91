//! The rules of Vestibule, as pure functions and types. They do no I/O, read no clock and draw no random
//! numbers. Time and random bytes are arguments, so that a test can check every rule at any time.

pub mod adaptive_pace;
pub mod call_limit;
pub mod change;
pub mod clock;
pub mod configuration;
pub mod consumption;
pub mod draw;
pub mod end_reason;
pub mod entry_status;
pub mod estimate;
pub mod event_outbox;
pub mod fact;
pub mod fallback_tick;
pub mod id;
pub mod key_ring;
pub mod lane;
pub mod lane_turns;
pub mod load;
pub mod opening;
pub mod pace;
pub mod plan;
pub mod poll_pacing;
pub mod presence;
pub mod problem_code;
pub mod queue_event;
pub mod queue_pattern;
pub mod queue_state;
pub mod reconcile;
pub mod record;
pub mod score;
pub mod settings;
pub mod state;
pub mod tally;
pub mod tombstone;
pub mod uri;
