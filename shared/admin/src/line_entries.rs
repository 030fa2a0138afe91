//! What the line has of many entries.

use serde::Serialize;
use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    score::Visit,
    state::EntryState,
};
use vestibule_line::{EntryLookup, Line, LineError, PresenceState, WaitingPresence};

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
}

/// How many entries are at each stage. Those that wait are `present`, `absent`, `called` or `not_called`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct StageCounts {
    pub(super) entries: u64,
    present: u64,
    absent: u64,
    called: u64,
    not_called: u64,
    ready: u64,
    active: u64,
}

impl StageCounts {
    pub(super) fn add(&mut self, stage: Stage) {
        self.entries += 1;
        let count = match stage {
            Stage::Waiting(WaitingPresence { state, .. }) => match state {
                PresenceState::Present => &mut self.present,
                PresenceState::Absent => &mut self.absent,
                PresenceState::Called => &mut self.called,
                PresenceState::NotCalled => &mut self.not_called,
            },
            Stage::Ready => &mut self.ready,
            Stage::Active => &mut self.active,
        };
        *count += 1;
    }

    /// All counts, multiplied.
    pub(super) fn scale(self, factor: impl Fn(u64) -> u64) -> Self {
        Self {
            entries: factor(self.entries),
            present: factor(self.present),
            absent: factor(self.absent),
            called: factor(self.called),
            not_called: factor(self.not_called),
            ready: factor(self.ready),
            active: factor(self.active),
        }
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
