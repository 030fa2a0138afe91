//! What Vestibule is about, as pure functions and types: no I/O, no clock, no randomness of its own.
//! Time and random bytes come in as arguments, so that every rule here can be tested by saying what time it is.

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
