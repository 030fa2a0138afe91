//! What a line is asked with, and what it answers.

mod entry;
mod queue;

pub use self::{entry::*, queue::*};
