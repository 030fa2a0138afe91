//! A typed call for each script.
//!
//! A file sends the script of its name, or those that it names, and turns the reply into an enum. `journal_encoding` reads
//! and writes what the journal holds, and `keys` has the names of all keys.

// The documentation of the crate names the errors that all calls have.
#![allow(clippy::missing_errors_doc)]

mod acknowledge;
mod adjust_clock;
mod adopt;
mod append_to_journal;
mod append_to_line;
mod change_mark;
mod changes;
mod check_in;
mod claim;
mod configure;
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
mod mark_closing;
mod move_to_lane;
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

use crate::{Line, connect};

pub(crate) use self::{keys::NEVER_WRITTEN_KEY, tick_message::parse_tick, time_source::TimeSources};
