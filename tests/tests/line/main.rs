//! The conformance suite of the line: behaviour that a visitor, the protected service or an operator would
//! notice. It runs each case on every implementation of the line. Each pair is a test of its own, such as
//! `redis::entering_twice_keeps_one_place`.

mod absences;
mod absent_limit;
mod adopt;
mod bypass;
mod calls;
#[macro_use]
mod cases;
mod change_mark;
mod check;
mod claim_and_leave;
mod clock;
mod clock_offset;
mod command_arguments;
mod concurrent_promoters;
mod configure;
mod dead_letters;
mod dropped_queue;
mod earlier_release;
mod endings;
mod epochs;
mod estimates;
mod evictions;
mod fallback_ticks;
mod front_door;
mod held_polls;
mod held_slots;
mod journal;
mod journal_limits;
mod journal_slots;
mod lanes;
mod limits;
mod load_reports;
mod loss;
mod missing;
mod order;
mod pace;
mod presence;
mod previous_visits;
mod promote_chunks;
mod queue_view;
mod recent_view;
mod reports;
mod restore;
mod server_time;
mod settings;
mod status_many;
mod subscription;
mod switches;
mod validate_and_extend;

tests_on_line!(memory Memory);
tests_on_line!(redis Redis);
tests_on_line!(valkey Valkey);
tests_on_line!(cluster Cluster);
