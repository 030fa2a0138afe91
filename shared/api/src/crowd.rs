//! The polls that are held on one queue, ordered by place, so that a tick finds the polls that it concerns.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use tokio::sync::oneshot;
use vestibule_domain::{
    id::EntryId, record::Record, score::WaitScore, settings::Entrance, standing::Standing,
};
use vestibule_line::{LOOKS_CHUNK, Look, Tick};

use super::{budget, views::Seen};

/// How many ticks are remembered. A poll that a tick promoted is looked up long before this many more ticks
/// have come.
const TICKS_MAX: usize = 64;

/// A waiting entry whose poll may be held.
#[derive(Clone)]
pub(super) struct Waiter {
    pub(super) seen: Arc<Seen>,
    pub(super) id: EntryId,
    pub(super) score: WaitScore,
    pub(super) position: u64,
}

impl Waiter {
    /// Whether a change between two snapshots may concern the entry. A waiting entry is promoted, leaves or
    /// is removed. All other ends belong to entries that were promoted before.
    fn is_concerned(&self, before: &Seen, after: &Seen) -> bool {
        after.view.promoted_through >= self.score.raw()
            || after.view.totals.left != before.view.totals.left
            // Counts of different epochs cannot be compared, because the line was restored in between.
            || after.view.configuration.epoch != before.view.configuration.epoch
    }

    /// Whether the entry still waits at the same place. The score decides, because an entry that came back
    /// to its old place waits at or below a place that was already promoted. Another score belongs to
    /// another visit.
    pub(super) fn waits_still(&self, look: Look) -> bool {
        matches!(look, Look::Here(Standing::Waiting { score, .. }) if score == self.score)
    }
}

/// What a held poll is told. Each poll is told once.
pub(super) enum Word {
    /// The entry changed. The poll was released before.
    News(News),
    /// The line does not answer.
    LineAway(String),
    /// The poll must look up the status itself. It is still counted.
    Look(Option<budget::Held>),
}

/// The status of an entry whose poll was held.
#[derive(Debug)]
pub(super) struct News {
    pub(super) look: Look,
    /// The record that the promotion creates, if its tick was received. It saves a read of the backup.
    pub(super) record: Option<Record>,
}

impl News {
    /// Creates an update that has the status only.
    pub(super) fn of(look: Look) -> Self {
        Self { look, record: None }
    }
}

/// The key of a held poll. Polls with lower places come first.
pub(super) type Key = (WaitScore, u64);

struct Held {
    waiter: Waiter,
    /// The last snapshot that was compared for this poll.
    seen: Arc<Seen>,
    counted: budget::Held,
    tell: oneshot::Sender<Word>,
    /// The poll is answered after its next lookup, whatever the status is.
    is_due: bool,
}

/// A reply for a poll that is no longer held.
pub(super) struct Heard {
    pub(super) counted: budget::Held,
    pub(super) tell: oneshot::Sender<Word>,
    pub(super) news: News,
}

/// The polls that are held on one queue.
#[derive(Default)]
pub(super) struct Crowd {
    held: BTreeMap<Key, Held>,
    /// The polls to look up, because their turn may have come.
    in_question: BTreeSet<Key>,
    /// The last ticks.
    ticks: VecDeque<Tick>,
}

impl Crowd {
    /// Adds a held poll.
    pub(super) fn add(
        &mut self,
        key: Key,
        waiter: Waiter,
        counted: budget::Held,
        tell: oneshot::Sender<Word>,
    ) {
        let held = Held {
            seen: waiter.seen.clone(),
            waiter,
            counted,
            tell,
            is_due: false,
        };
        self.held.insert(key, held);
    }

    /// Removes a held poll.
    pub(super) fn remove(&mut self, key: Key) {
        drop(self.take(key));
    }

    /// Marks a poll for a lookup, because its entry may have changed.
    pub(super) fn question(&mut self, key: Key) {
        self.in_question.insert(key);
    }

    /// Marks all polls for a lookup.
    pub(super) fn question_all(&mut self) {
        self.in_question.extend(self.held.keys());
    }

    /// Marks the polls that a tick promoted: those at the tick's place or a lower one.
    pub(super) fn hear(&mut self, tick: Tick) {
        let called = self.held.range(..=(tick.through, u64::MAX));
        self.in_question.extend(called.map(|(key, _)| key));
        if self.ticks.len() == TICKS_MAX {
            self.ticks.pop_front();
        }
        self.ticks.push_back(tick);
    }

    /// Marks the polls that a newer snapshot concerns.
    pub(super) fn see(&mut self, newer: &Arc<Seen>) {
        for (key, held) in &mut self.held {
            held.is_due |= notice(newer) != notice(&held.waiter.seen);
            if held.is_due || held.waiter.is_concerned(&held.seen, newer) {
                self.in_question.insert(*key);
            }
            held.seen = newer.clone();
        }
    }

    /// Whether enough polls are marked to fill one lookup.
    pub(super) fn fills_a_question(&self) -> bool {
        self.in_question.len() >= LOOKS_CHUNK
    }

    /// Takes marked polls for one lookup, those with the lowest places first.
    pub(super) fn take_some(&mut self) -> Vec<(Key, EntryId)> {
        let mut some = Vec::new();
        while some.len() < LOOKS_CHUNK
            && let Some(key) = self.in_question.pop_first()
        {
            some.extend(self.held.get(&key).map(|held| (key, held.waiter.id)));
        }
        some
    }

    /// Removes a poll after its lookup, unless its entry waits as before.
    pub(super) fn looked(&mut self, key: Key, look: Look) -> Option<Heard> {
        let held = self.held.get(&key)?;
        if held.waiter.waits_still(look) && !held.is_due {
            return None;
        }
        let record = self.record(held, look);
        let Held { counted, tell, .. } = self.take(key)?;
        Some(Heard {
            counted,
            tell,
            news: News { look, record },
        })
    }

    /// Ends the hold of a poll, which then looks up the status itself.
    pub(super) fn send_to_look(&mut self, key: Key) {
        if let Some(Held { counted, tell, .. }) = self.take(key) {
            // If the request is gone, the message is dropped, and that releases the poll.
            let _ = tell.send(Word::Look(Some(counted)));
        }
    }

    /// Does the same for all polls.
    pub(super) fn send_all_to_look(&mut self) {
        for (_, Held { counted, tell, .. }) in self.take_all() {
            let _ = tell.send(Word::Look(Some(counted)));
        }
    }

    /// Tells all polls that the line does not answer.
    pub(super) fn tell_line_away(&mut self, cause: &str) {
        for (_, held) in self.take_all() {
            let _ = held.tell.send(Word::LineAway(cause.to_owned()));
        }
    }

    fn take(&mut self, key: Key) -> Option<Held> {
        self.in_question.remove(&key);
        self.held.remove(&key)
    }

    fn take_all(&mut self) -> BTreeMap<Key, Held> {
        self.in_question.clear();
        std::mem::take(&mut self.held)
    }

    /// Builds the record of an entry that one of the remembered ticks promoted. Claim deadlines tell ticks
    /// apart, even if one tick was not received. If a pause moved the deadlines, the tick cannot be
    /// identified and there is no record.
    fn record(&self, held: &Held, look: Look) -> Option<Record> {
        let Look::Here(Standing::Ready {
            claim_by_ms, visit, ..
        }) = look
        else {
            return None;
        };
        let Waiter { id, score, seen, .. } = &held.waiter;
        let mut of_this = self.ticks.iter().filter(|tick| tick.claim_by_ms == claim_by_ms);
        let change = of_this.find_map(|tick| tick.change(*id, *score))?;
        (score.visit() == visit)
            .then(|| Record::after(None, &change, seen.shelf().retain_hours))
            .flatten()
    }
}

/// The settings of which every waiting visitor is told at once when they change.
fn notice(seen: &Seen) -> (u32, bool, Entrance, Option<&str>) {
    let settings = seen.settings();
    (
        seen.view.configuration.generation,
        settings.paused,
        settings.entrance,
        settings.message.as_deref(),
    )
}
