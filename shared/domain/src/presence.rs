//! Presence: which called visitors are there, and how an absent one costs the others nothing.
//!
//! A called visitor checks in by a status request or by a held poll, and is then present for
//! `presence_seconds`. A promotion takes present visitors only. It goes past an entry that was called
//! `call_seconds` ago and is not present: the entry is absent, keeps its place, and is first in line
//! again with its next check-in. A visitor who enters at a called place is told to poll at once, and
//! passed by if no poll comes within three seconds: entering is no check-in, or one client could give
//! many slots to visitors that never come. `docs/adr/0022-presence.md` has the reasons.
//!
//! Times of presence are counted by the *presence clock*. It stands still while no visitor can be
//! expected to check in, so that an outage of the API makes no visitor absent.

use crate::settings::Settings;

/// The most by which the window of a lane grows.
pub const GROWTH_MAX: u64 = 64;

/// Where the visitor of a waiting entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum PresenceState {
    /// The visitor checked in lately, or presence is off.
    Present,
    /// The head of the lane has gone past the visitor, who is not present.
    Absent,
    /// The visitor is called, and is not present.
    Called,
    /// The visitor is not called yet.
    NotCalled,
}

impl Settings {
    /// Whether visitors have to check in.
    pub fn has_presence(&self) -> bool {
        self.presence_seconds > 0
    }

    /// `presence_seconds` in milliseconds.
    pub fn presence_ms(&self) -> u64 {
        u64::from(self.presence_seconds) * 1_000
    }

    /// `call_seconds` in milliseconds.
    pub fn call_ms(&self) -> u64 {
        u64::from(self.call_seconds) * 1_000
    }
}
