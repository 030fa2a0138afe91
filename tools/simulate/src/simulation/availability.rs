//! Whether the API of a run serves requests.

/// Whether the API serves requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Availability {
    /// It does, and an outage may follow.
    BeforeOutage,
    /// It refuses all requests.
    Outage,
    /// It does again.
    AfterOutage,
}
