//! What a line is asked with, and what it answers.

mod check;
mod driver;
mod entry;
mod forecast;
mod hold;
mod queue;

pub use self::{check::*, driver::*, entry::*, hold::*, queue::*};
