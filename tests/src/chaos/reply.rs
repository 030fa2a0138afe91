//! What a visitor learns from the answer to a request.

use super::history::Call;

/// The entry of a visitor, as the visitor knows it.
pub(super) struct KnownEntry {
    pub(super) token: String,
    pub(super) visit: u64,
    pub(super) state: String,
}

/// The result of a request.
pub(super) enum Reply {
    Entry(KnownEntry),
    /// The entry has ended or does not exist: status 410 or 404.
    Ended,
    /// The entry is not active: status 409.
    NotActive,
    /// There was no answer, or one that asks the client to try again.
    NoAnswer,
}

impl KnownEntry {
    /// Forgets the state, so that the visitor asks for the status.
    pub(super) fn forget_state(&mut self) {
        "unknown".clone_into(&mut self.state);
    }
}

impl Reply {
    /// Reads the answer of a call.
    pub(super) fn read(call: &Call) -> Self {
        match (call.status(), call.text("token")) {
            (200 | 201, Some(token)) => Self::Entry(KnownEntry {
                token: token.to_owned(),
                visit: call.number("visit").unwrap_or_default(),
                state: call.text("state").unwrap_or_default().to_owned(),
            }),
            (200..300, None) => Self::Entry(KnownEntry {
                token: String::new(),
                visit: 0,
                state: String::new(),
            }),
            (404 | 410, _) => Self::Ended,
            (409, _) => Self::NotActive,
            _ => Self::NoAnswer,
        }
    }
}
