//! What a line is asked with, and what it answers.

mod check;
mod entry;
mod hold;
mod queue;

pub use self::{check::*, entry::*, hold::*, queue::*};
