//! The line in Redis 7 or Valkey, on one server or in a cluster.
//!
//! A Lua script is one atomic step: Redis runs no other command during it. The script takes its
//! time from the server's clock. Each `.lua` file has a `.rs` file of the same name that sends the
//! script and turns its reply into an enum. `hold.rs` also sends `release.lua`. No Redis type
//! leaves this folder.

mod acknowledge;
mod adjust_clock;
mod adopt;
mod append_to_journal;
mod append_to_line;
mod budgets;
mod change_mark;
mod changes;
mod check_in;
mod claim;
mod closing_line;
mod configure;
mod connect;
mod dead_letter;
mod delete_queue;
mod drop_queue;
mod end;
mod enter;
mod evict_waiting;
mod eviction_policy;
mod fields;
mod hold;
mod journal;
mod journal_encoding;
mod journal_records;
mod keys;
mod lanes;
mod leave;
mod line;
mod mark_closing;
mod move_to_lane;
mod operator_line;
mod park_idle_promoter;
mod places;
mod preflight;
mod presence_many;
mod promote;
mod promote_entry;
mod queue_trace;
mod queue_view;
mod raise_watermark;
mod read_due_records;
mod read_page;
mod record_check_progress;
mod record_load;
mod redis_line;
mod reply;
mod requeue_with_backoff;
mod restore;
mod script;
mod server_memory;
mod server_time;
mod settle_switches;
mod stage;
mod status;
mod status_many;
mod take_call;
mod take_check;
mod take_fallback_tick;
mod take_report;
mod tally;
mod tick_message;
mod time_source;
mod unflushed;
mod validate;

pub use self::{
    connect::{Address, AddressError, IamLogin, IamUser, WallClock},
    redis_line::RedisLine,
};
