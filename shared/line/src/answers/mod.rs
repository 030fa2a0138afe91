//! The inputs and results of the line's operations.

mod check;
mod driver;
mod entry;
mod forecast;
mod hold;
mod queue;

pub use self::{check::*, driver::*, entry::*, hold::*, queue::*};
