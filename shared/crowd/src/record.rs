//! What one visitor met.

use serde::Serialize;

use crate::temper::ConductKind;

/// How a visit ended, as far as its visitor knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "end", content = "code")]
pub enum VisitEnd {
    /// The crowd was stopped before the visitor had a place.
    NoPlace,
    /// The server refused the visitor for good, with this code.
    Refused(String),
    /// The protected service completed the visit.
    Completed,
    /// The visitor left while waiting.
    LeftLine,
    /// The visitor left with a slot.
    LeftSlot,
    /// The visitor stopped without a word.
    Vanished,
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

/// An estimate that was shown to a visitor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShownEstimate {
    /// When it was shown, in Unix milliseconds.
    pub at_ms: f64,
    /// The shortest wait, in seconds.
    pub low_s: u64,
    /// The longest wait, in seconds.
    pub high_s: u64,
    /// Whether the client computed it from a document. If not, it is of an answer about the entry.
    pub is_by_document: bool,
}

/// How often a number rose that should only fall within a visit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rises {
    /// The position in an answer about the entry.
    pub answered: u64,
    /// The position by an answer or by a newer document.
    pub computed: u64,
    /// The position that the visitor sees.
    pub shown: u64,
    /// The number of turns ahead that the visitor sees. With several lanes it may rise.
    pub ahead: u64,
}

/// What one visitor met. Times are Unix milliseconds: of the server where the server tells them, and else of this machine.
// Each is a fact of its own, and a visit may have any of them.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Clone, PartialEq)]
pub struct VisitRecord {
    /// How the visitor behaved.
    pub conduct: ConductKind,
    /// When the visitor arrived.
    pub arrived_at_ms: f64,
    /// How often the visitor entered as another than before.
    pub changes_of_id: u64,
    /// Whether the server gave a place.
    pub has_entered: bool,
    /// Whether a request to enter had no answer, so that the server may have given a place all the same.
    pub may_have_entered: bool,
    /// The token of the entry, and the numbers of the visits, in the order in which the server told them.
    pub token: Option<String>,
    /// See [`VisitRecord::token`].
    pub visits: Vec<u64>,
    /// Whether the first answer let the visitor in.
    pub is_fast_tracked: bool,
    /// Lane and order of the entry, if it waited.
    pub place: Option<(u8, u64)>,
    /// When the visitor entered, by the server.
    pub joined_at_ms: Option<u64>,
    /// Whether the visitor learnt of the turn.
    pub is_promoted: bool,
    /// When the turn came, by the server.
    pub promoted_at_ms: Option<u64>,
    /// When the visitor learnt of the turn.
    pub called_at_ms: Option<f64>,
    /// Until when the turn could be claimed, by the server.
    pub claim_by_ms: Option<u64>,
    /// When the visitor had the answer that let it in.
    pub claimed_at_ms: Option<f64>,
    /// How often the protected service was told that the visitor may act.
    pub validations: u64,
    /// How often the visitor was let in, and the server forgot that.
    pub sent_back: u64,
    /// From when until when the visitor held a slot for certain: from the answer that gave it to the request that ends it, or
    /// to the moment before the server ends the turn or the session by itself.
    pub slot_ms: Option<(f64, f64)>,
    /// Numbers that rose.
    pub rises: Rises,
    /// Whether the visitor came back after a sleep, or to a place whose turn it missed.
    pub has_come_back: bool,
    /// How many requests the visitor sent, without those of the protected service.
    pub requests: u64,
    /// How many of them asked for the state of the entry.
    pub polls: u64,
    /// How many of them read the public document.
    pub document_reads: u64,
    /// How often the client took a document for a newer one that was not.
    pub old_documents: u64,
    /// How many were refused or got no answer.
    pub failures: u64,
    /// Estimates that were shown while the visitor waited, if the visitor keeps them.
    pub estimates: Vec<ShownEstimate>,
    /// How often the visitor was shown no estimate while it waited.
    pub unknown_estimates: u64,
    /// How the visit ended. `None` while it goes on.
    pub end: Option<VisitEnd>,
}

impl VisitRecord {
    /// The record of a visitor who is about to enter.
    pub fn new(conduct: ConductKind, arrived_at_ms: f64) -> Self {
        Self {
            conduct,
            arrived_at_ms,
            changes_of_id: 0,
            has_entered: false,
            may_have_entered: false,
            token: None,
            visits: Vec::new(),
            is_fast_tracked: false,
            place: None,
            joined_at_ms: None,
            is_promoted: false,
            promoted_at_ms: None,
            called_at_ms: None,
            claim_by_ms: None,
            claimed_at_ms: None,
            validations: 0,
            sent_back: 0,
            slot_ms: None,
            rises: Rises::default(),
            has_come_back: false,
            requests: 0,
            polls: 0,
            document_reads: 0,
            old_documents: 0,
            failures: 0,
            estimates: Vec::new(),
            unknown_estimates: 0,
            end: None,
        }
    }

    /// Whether the visitor was let in.
    pub fn is_claimed(&self) -> bool {
        self.is_promoted && self.claimed_at_ms.is_some()
    }

    /// When the visitor got a slot, by the server.
    pub fn admitted_at_ms(&self) -> Option<u64> {
        self.promoted_at_ms
            .or_else(|| self.joined_at_ms.filter(|_| self.is_fast_tracked))
    }

    /// How long the visitor waited until the promotion, in milliseconds. `None` without one, or if that is not known.
    pub fn wait_ms(&self) -> Option<u64> {
        // The server says of a visitor who was let in at once, too, when that was.
        if self.is_fast_tracked {
            return None;
        }
        Some(self.promoted_at_ms?.saturating_sub(self.joined_at_ms?))
    }

    /// Whether the visitor did as told and lost the place, the turn or the session.
    pub fn is_lost(&self) -> bool {
        matches!(self.end, Some(VisitEnd::Lost(_)))
    }
}
