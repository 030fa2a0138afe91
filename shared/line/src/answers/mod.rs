//! The inputs and results of the line's operations.

mod adopt;
mod check;
mod entry;
mod fallback_tick;
mod forecast;
mod hold;
mod queue;

pub use self::{adopt::*, check::*, entry::*, fallback_tick::*, hold::*, queue::*};
