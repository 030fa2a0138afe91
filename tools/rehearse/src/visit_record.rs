//! What one visitor met.

use serde::Serialize;

use crate::conduct::Conduct;

/// How a visit ended, as far as its visitor knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "end", content = "code")]
pub(crate) enum VisitEnd {
    /// The rehearsal ended before the visitor had a place.
    NoPlace,
    /// The server refused the visitor for good, with this code.
    Refused(String),
    /// The protected service completed the visit.
    Completed,
    /// The visitor left while waiting.
    LeftLine,
    /// The visitor left with a slot.
    LeftSlot,
    /// The visitor let the time to claim pass.
    NoShow,
    /// The session ran out.
    SessionExpired,
    /// The server ended the wait or the turn of a silent visitor: a no-show, or an absence.
    Lapsed,
    /// The server ended the visit although the visitor did as told. The code says how.
    Lost(String),
    /// No request to end the visit was answered.
    Unknown,
}

/// What one visitor met.
// Each is a fact of its own, and a visit may have any of them.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VisitRecord {
    /// How the visitor behaved.
    pub(crate) conduct: Conduct,
    /// Whether the server gave a place.
    pub(crate) has_entered: bool,
    /// Whether a request to enter had no answer, so that the server may have given a place all the same.
    pub(crate) may_have_entered: bool,
    /// Whether the first answer let the visitor in.
    pub(crate) is_fast_tracked: bool,
    /// Lane and order of the entry, if it waited.
    pub(crate) place: Option<(u8, u64)>,
    /// When the visitor entered, in Unix milliseconds of the server.
    pub(crate) joined_at_ms: Option<u64>,
    /// Whether the visitor learnt of the turn.
    pub(crate) is_promoted: bool,
    /// Until when the turn could be claimed, in Unix milliseconds of the server.
    pub(crate) claim_by_ms: Option<u64>,
    /// Whether the visitor claimed the turn.
    pub(crate) is_claimed: bool,
    /// How often an answer had a higher position than one before.
    pub(crate) answered_rises: u64,
    /// How often the position that the visitor sees rose.
    pub(crate) shown_rises: u64,
    /// How many requests the visitor sent, without those of the protected service.
    pub(crate) requests: u64,
    /// How many of them read the public document.
    pub(crate) document_reads: u64,
    /// How the visit ended.
    pub(crate) end: VisitEnd,
}

impl VisitRecord {
    /// The record of a visitor who is about to enter.
    pub(crate) fn new(conduct: Conduct) -> Self {
        Self {
            conduct,
            has_entered: false,
            may_have_entered: false,
            is_fast_tracked: false,
            place: None,
            joined_at_ms: None,
            is_promoted: false,
            claim_by_ms: None,
            is_claimed: false,
            answered_rises: 0,
            shown_rises: 0,
            requests: 0,
            document_reads: 0,
            end: VisitEnd::NoPlace,
        }
    }

    /// When the entry was promoted, in Unix milliseconds of the server. `None` if the visitor never learnt of the turn.
    pub(crate) fn promoted_at_ms(&self, claim_seconds: u64) -> Option<u64> {
        self.claim_by_ms?.checked_sub(claim_seconds * 1_000)
    }

    /// How long the visitor waited until the promotion, in milliseconds.
    pub(crate) fn wait_ms(&self, claim_seconds: u64) -> Option<u64> {
        Some(
            self.promoted_at_ms(claim_seconds)?
                .saturating_sub(self.joined_at_ms?),
        )
    }
}
