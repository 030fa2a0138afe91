//! The inputs and results of the line's operations.

mod adopt;
mod call;
mod change_mark;
mod check;
mod closing;
mod entry;
mod eviction;
mod fallback_tick;
mod forecast;
mod hold;
mod journal;
mod lane_estimate;
mod loss;
mod operator;
mod preflight;
mod presence;
mod promotion;
mod queue;
mod queue_trace;
mod report;
mod switches;

pub use self::{
    adopt::*, call::*, change_mark::*, check::*, closing::*, entry::*, eviction::*, fallback_tick::*,
    hold::*, journal::*, loss::*, operator::*, preflight::*, presence::*, promotion::*, queue::*,
    queue_trace::*, report::*, switches::*,
};
