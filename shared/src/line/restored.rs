//! What a restore puts back: the same for every line.

use crate::domain::{
    id::EntryId,
    record::Record,
    score::{DeadlineScore, WaitScore},
    state::State,
};

/// The entries of a restore, by where they go.
#[derive(Debug, Default)]
pub(super) struct Restored {
    pub(super) waiting: Vec<(WaitScore, EntryId)>,
    pub(super) ready: Vec<(DeadlineScore, EntryId)>,
    pub(super) active: Vec<(DeadlineScore, EntryId)>,
    /// The highest order among them: arrivals go on from it.
    pub(super) last_order: u64,
    /// The highest version among them: changes go on from it.
    pub(super) v: u64,
}

/// The last time that the entries know, in Unix microseconds: line time does not go back behind it.
pub(super) fn last_us(entries: &[Record]) -> u64 {
    entries.iter().map(|entry| entry.version.v).max().unwrap_or(0)
}

impl Restored {
    /// Waiting entries go back to their places, active ones until their end, ready ones until `claim_by_ms`: whoever
    /// was called could not answer while the line was away. Those that are gone are passed over.
    pub(super) fn from_records(entries: &[Record], claim_by_ms: u64) -> Self {
        let mut restored = Self::default();
        for entry in entries {
            restored.v = restored.v.max(entry.version.v);
            restored.last_order = restored.last_order.max(entry.score.map_or(0, WaitScore::order));
            match (entry.state, entry.score, entry.expires_at_ms) {
                (State::Waiting, Some(score), _) => restored.waiting.push((score, entry.id)),
                (State::Ready, ..) => restored
                    .ready
                    .push((DeadlineScore::new(claim_by_ms, entry.visit), entry.id)),
                (State::Active, _, Some(end_ms)) => {
                    restored
                        .active
                        .push((DeadlineScore::new(end_ms, entry.visit), entry.id));
                }
                _ => {}
            }
        }
        restored
    }
}
