//! What the line has of many entries.

use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    score::Visit,
    state::EntryState,
};
use vestibule_line::{EntryLookup, Line, LineError, PresenceState, WaitingPresence};
use vestibule_wire::results::StageCounts;

/// An entry that is live in the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiveEntry {
    pub(super) id: EntryId,
    pub(super) visit: Visit,
    pub(super) stage: Stage,
}

/// How far an entry has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Waiting(WaitingPresence),
    Ready,
    Active,
}

impl Stage {
    /// The state of an entry at this stage.
    pub(super) fn state(self) -> EntryState {
        match self {
            Self::Waiting(_) => EntryState::Waiting,
            Self::Ready => EntryState::Ready,
            Self::Active => EntryState::Active,
        }
    }

    /// Counts an entry at this stage.
    pub(super) fn count_in(self, counts: &mut StageCounts) {
        counts.entries += 1;
        let count = match self {
            Self::Waiting(WaitingPresence { state, .. }) => match state {
                PresenceState::Present => &mut counts.present,
                PresenceState::Absent => &mut counts.absent,
                PresenceState::Called => &mut counts.called,
                PresenceState::NotCalled => &mut counts.not_called,
            },
            Self::Ready => &mut counts.ready,
            Self::Active => &mut counts.active,
        };
        *count += 1;
    }
}

/// Finds which of these entries are live in the line, in the order of `ids`.
pub(super) async fn find_live(
    line: &Line,
    queue: &QueueId,
    ids: &[EntryId],
) -> Result<Vec<LiveEntry>, LineError> {
    let presence = line.presence_many(queue, ids).await?;
    let lookups = line.status_many(queue, ids).await?;
    let found = ids.iter().zip(presence).zip(lookups);
    let live = found.filter_map(|((id, presence), lookup)| {
        let EntryLookup::Found(status) = lookup else {
            return None;
        };
        let stage = match status {
            // Between the two reads, an entry may have begun to wait. It is left for the next command.
            EntryStatus::Waiting { .. } => Stage::Waiting(presence?),
            EntryStatus::Ready { .. } => Stage::Ready,
            EntryStatus::Active { .. } => Stage::Active,
        };
        let (id, visit) = (*id, status.visit());
        Some(LiveEntry { id, visit, stage })
    });
    Ok(live.collect())
}
