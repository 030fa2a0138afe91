//! The polls that are held on one queue, ordered by place, so that a tick finds the polls that it
//! concerns.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use tokio::sync::oneshot;
use vestibule_domain::{
    entry_status::EntryStatus,
    id::EntryId,
    lane::LaneProgress,
    record::EntryRecord,
    score::WaitScore,
    settings::{Entrance, Message},
};
use vestibule_line::{EntryLookup, STATUS_CHUNK, Tick};

use super::budget;
use crate::queue::QueueSnapshot;

/// How many ticks are remembered. A poll that a tick promoted is looked up long before this many
/// more ticks have come.
const TICKS_MAX: usize = 64;

/// In how many snapshots, which come each second, all visitors are told what the operator has changed: they then ask again
/// within two seconds, and not at once.
const ANNOUNCEMENT_WAVES: u64 = 3;

/// A waiting entry whose poll may be held.
#[derive(Clone)]
pub(crate) struct HeldPoll {
    pub(super) snapshot: Arc<QueueSnapshot>,
    pub(super) id: EntryId,
    pub(super) score: WaitScore,
    pub(super) position: u64,
}

impl HeldPoll {
    /// The poll of an entry with this status; `None` if it does not wait.
    pub(crate) fn new(snapshot: &Arc<QueueSnapshot>, id: EntryId, update: &EntryUpdate) -> Option<Self> {
        let EntryLookup::Found(EntryStatus::Waiting { score, position }) = update.lookup else {
            return None;
        };
        Some(Self {
            snapshot: snapshot.clone(),
            id,
            score,
            position,
        })
    }

    /// Whether a change between two snapshots may concern the entry. A waiting entry is promoted,
    /// leaves or is removed. All other ends belong to entries that were promoted before.
    fn is_concerned(&self, before: &QueueSnapshot, after: &QueueSnapshot) -> bool {
        after.view.promoted_through >= self.score.raw()
            || after.view.totals.left != before.view.totals.left
            || after.view.totals.evicted != before.view.totals.evicted
            // Counts of different epochs cannot be compared, because the line was restored in between.
            || after.view.configuration.epoch != before.view.configuration.epoch
    }

    /// Whether the entry still waits at the same place. The score decides, because an entry that
    /// came back to its old place waits at or below a place that was already promoted. Another
    /// score belongs to another visit.
    pub(super) fn is_still_waiting(&self, lookup: EntryLookup) -> bool {
        matches!(lookup, EntryLookup::Found(EntryStatus::Waiting { score, .. }) if score == self.score)
    }
}

/// What a held poll is told. Each poll is told once.
pub(super) enum Wakeup {
    /// The entry changed. The poll was released before.
    Update(Box<EntryUpdate>),
    /// The line does not answer.
    LineUnavailable(String),
    /// The poll must look up the status itself. It is still counted.
    LookUp(Option<budget::HoldPermit>),
}

/// The status of an entry whose poll was held.
#[derive(Debug)]
pub(crate) struct EntryUpdate {
    pub(crate) lookup: EntryLookup,
    /// How far the lane of a waiting entry has moved, if the lookup said so.
    pub(crate) lane: Option<LaneProgress>,
    /// The record that the promotion creates, if its tick was received. It saves a read of the backup.
    pub(crate) record: Option<EntryRecord>,
}

impl EntryUpdate {
    pub(crate) fn new(lookup: EntryLookup, lane: Option<LaneProgress>) -> Self {
        Self {
            lookup,
            lane,
            record: None,
        }
    }
}

/// The key of a held poll. Polls with lower places come first.
pub(super) type HeldPollKey = (WaitScore, u64);

struct TrackedPoll {
    poll: HeldPoll,
    /// The last snapshot that was compared for this poll.
    last_snapshot: Arc<QueueSnapshot>,
    permit: budget::HoldPermit,
    reply: oneshot::Sender<Wakeup>,
    /// After how many more snapshots the poll is answered, whatever the status is, because its visitor is to be told.
    due_after: Option<u64>,
}

impl TrackedPoll {
    fn is_due(&self) -> bool {
        self.due_after == Some(0)
    }
}

/// A reply for a poll that is no longer held.
pub(super) struct PendingReply {
    pub(super) permit: budget::HoldPermit,
    pub(super) reply: oneshot::Sender<Wakeup>,
    pub(super) update: EntryUpdate,
}

/// The polls that are held on one queue.
#[derive(Default)]
pub(super) struct HeldPolls {
    polls: BTreeMap<HeldPollKey, TrackedPoll>,
    /// The polls to look up, because their turn may have come.
    marked: BTreeSet<HeldPollKey>,
    /// The last ticks.
    ticks: VecDeque<Tick>,
}

impl HeldPolls {
    /// Adds a held poll.
    pub(super) fn add(
        &mut self,
        key: HeldPollKey,
        poll: HeldPoll,
        permit: budget::HoldPermit,
        reply: oneshot::Sender<Wakeup>,
    ) {
        let tracked = TrackedPoll {
            last_snapshot: poll.snapshot.clone(),
            poll,
            permit,
            reply,
            due_after: None,
        };
        self.polls.insert(key, tracked);
    }

    /// Removes a held poll.
    pub(super) fn remove(&mut self, key: HeldPollKey) {
        drop(self.take(key));
    }

    /// Marks a poll for a lookup, because its entry may have changed.
    pub(super) fn mark_for_lookup(&mut self, key: HeldPollKey) {
        self.marked.insert(key);
    }

    /// Marks all polls for a lookup.
    pub(super) fn mark_all(&mut self) {
        self.marked.extend(self.polls.keys());
    }

    /// Marks the polls that a tick promoted: those at the tick's place or a lower one.
    pub(super) fn mark_promoted(&mut self, tick: Tick) {
        let promoted = self.polls.range(..=(tick.through, u64::MAX));
        self.marked.extend(promoted.map(|(key, _)| key));
        if self.ticks.len() == TICKS_MAX {
            self.ticks.pop_front();
        }
        self.ticks.push_back(tick);
    }

    /// Marks the polls that a newer snapshot concerns.
    pub(super) fn mark_concerned(&mut self, newer_snapshot: &Arc<QueueSnapshot>) {
        for (key, tracked) in &mut self.polls {
            if let Some(left) = &mut tracked.due_after {
                *left = left.saturating_sub(1);
            } else if announced_state(newer_snapshot) != announced_state(&tracked.poll.snapshot) {
                tracked.due_after = Some(key.1 % ANNOUNCEMENT_WAVES);
            }
            if tracked.is_due() || tracked.poll.is_concerned(&tracked.last_snapshot, newer_snapshot) {
                self.marked.insert(*key);
            }
            tracked.last_snapshot = newer_snapshot.clone();
        }
    }

    /// Whether enough polls are marked to fill one lookup.
    pub(super) fn has_full_batch(&self) -> bool {
        self.marked.len() >= STATUS_CHUNK
    }

    /// Takes marked polls for one lookup, those with the lowest places first.
    pub(super) fn take_batch(&mut self) -> Vec<(HeldPollKey, EntryId)> {
        let mut batch = Vec::new();
        while batch.len() < STATUS_CHUNK
            && let Some(key) = self.marked.pop_first()
        {
            batch.extend(self.polls.get(&key).map(|tracked| (key, tracked.poll.id)));
        }
        batch
    }

    /// Removes a poll after its lookup, unless its entry waits as before.
    pub(super) fn take_if_changed(&mut self, key: HeldPollKey, lookup: EntryLookup) -> Option<PendingReply> {
        let tracked = self.polls.get(&key)?;
        if tracked.poll.is_still_waiting(lookup) && !tracked.is_due() {
            return None;
        }
        let record = self.promoted_record(tracked, lookup);
        let TrackedPoll { permit, reply, .. } = self.take(key)?;
        Some(PendingReply {
            permit,
            reply,
            update: EntryUpdate {
                record,
                ..EntryUpdate::new(lookup, None)
            },
        })
    }

    /// Ends the hold of a poll, which then looks up the status itself.
    pub(super) fn send_to_lookup(&mut self, key: HeldPollKey) {
        if let Some(TrackedPoll { permit, reply, .. }) = self.take(key) {
            // If the request is gone, the message is dropped, and that releases the poll.
            let _ = reply.send(Wakeup::LookUp(Some(permit)));
        }
    }

    /// Does the same for all polls.
    pub(super) fn send_all_to_lookup(&mut self) {
        for (_, TrackedPoll { permit, reply, .. }) in self.take_all() {
            let _ = reply.send(Wakeup::LookUp(Some(permit)));
        }
    }

    /// Tells all polls that the line does not answer.
    pub(super) fn report_line_unavailable(&mut self, cause: &str) {
        for (_, tracked) in self.take_all() {
            let _ = tracked.reply.send(Wakeup::LineUnavailable(cause.to_owned()));
        }
    }

    fn take(&mut self, key: HeldPollKey) -> Option<TrackedPoll> {
        self.marked.remove(&key);
        self.polls.remove(&key)
    }

    fn take_all(&mut self) -> BTreeMap<HeldPollKey, TrackedPoll> {
        self.marked.clear();
        std::mem::take(&mut self.polls)
    }

    /// Builds the record of an entry that one of the remembered ticks promoted. Claim deadlines
    /// tell ticks apart, even if one tick was not received. If a pause moved the deadlines, the
    /// tick cannot be identified and there is no record.
    fn promoted_record(&self, tracked: &TrackedPoll, lookup: EntryLookup) -> Option<EntryRecord> {
        let EntryLookup::Found(EntryStatus::Ready {
            claim_by_ms, visit, ..
        }) = lookup
        else {
            return None;
        };
        let HeldPoll {
            id, score, snapshot, ..
        } = &tracked.poll;
        let mut matching_ticks = self.ticks.iter().filter(|tick| tick.claim_by_ms == claim_by_ms);
        let change = matching_ticks.find_map(|tick| tick.change_for_entry(*id, *score))?;
        (score.visit() == visit).then(|| EntryRecord::of_change(&change, snapshot.partition().put_rules()))
    }
}

/// What every waiting visitor is told at once when it changes, as it was when the snapshot was taken.
fn announced_state(snapshot: &QueueSnapshot) -> (u32, bool, Entrance, Option<&Message>) {
    let settings = snapshot.settings();
    (
        snapshot.view.configuration.generation,
        settings.paused,
        settings.entrance_at(snapshot.view.now_ms),
        settings.message.as_ref(),
    )
}
