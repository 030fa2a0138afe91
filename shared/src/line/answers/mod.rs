//! What a line is asked with, and what it answers.

mod check;
mod driver;
mod entry;
mod queue;

pub use self::{check::*, driver::*, entry::*, queue::*};
