//! What goes wrong with a call.

/// Why an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server does not answer.
    Unavailable,
    /// The server has more to do than it can.
    Throttled,
    /// The server rejects the request, or holds what cannot be read.
    Rejected,
}

/// A fault that strikes some calls, whatever they do. It is drawn for each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomFault {
    /// What happens to the calls that it strikes.
    pub effect: Effect,
    /// How many of a hundred calls it strikes.
    pub percent: u32,
}

/// What a [`RandomFault`] does to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It fails, and nothing is done.
    Fails(Fault),
    /// It takes a random time in this range longer, in milliseconds.
    Stalls(u64, u64),
    /// It is carried out, and the caller learns of a failure.
    LosesAnswer,
}
