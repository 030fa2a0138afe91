//! The rules of Vestibule, as pure functions and types. They do no I/O, read no clock and draw no random
//! numbers. Time and random bytes are arguments, so that a test can check every rule at any time.

pub mod change;
pub mod clock;
pub mod driver;
pub mod estimate;
pub mod id;
pub mod load;
pub mod over;
pub mod pace;
pub mod pacing;
pub mod plan;
pub mod record;
pub mod score;
pub mod settings;
pub mod standing;
pub mod state;
pub mod uri;
pub mod visitor;
