//! Those who are held on one queue: by their places, so that a tick finds the ones that it concerns.

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

/// So many ticks are remembered: whoever one of them called is looked at long before as many have come.
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
    /// Whether what happened between two views may have changed the entry. Of those who wait, one is either promoted or
    /// leaves (or is removed); whatever else ends is somebody's who was promoted.
    fn is_concerned(&self, before: &Seen, after: &Seen) -> bool {
        after.view.promoted_through >= self.score.raw()
            || after.view.totals.left != before.view.totals.left
            // Counts of another epoch cannot be compared: the line was put back in between.
            || after.view.configuration.epoch != before.view.configuration.epoch
    }

    /// Whether the entry is where it was: whoever came back to an old place stands behind what was promoted and waits all
    /// the same, and another score is another visit.
    pub(super) fn waits_still(&self, look: Look) -> bool {
        matches!(look, Look::Here(Standing::Waiting { score, .. }) if score == self.score)
    }
}

/// What somebody who is held is told, once.
pub(super) enum Word {
    /// What became of the entry. The poll was counted out before.
    News(News),
    /// The line does not answer.
    LineAway(String),
    /// The entry is to be looked at: that says what there is to say. The poll is counted still.
    Look(Option<budget::Held>),
}

/// Where an entry stands that was held.
#[derive(Debug)]
pub(super) struct News {
    pub(super) look: Look,
    /// The record that the promotion makes, where its tick was heard: nobody has to read it.
    pub(super) record: Option<Record>,
}

impl News {
    /// Nothing but where it stands.
    pub(super) fn of(look: Look) -> Self {
        Self { look, record: None }
    }
}

/// Names one who is held: those of lower places come first.
pub(super) type Key = (WaitScore, u64);

struct Held {
    waiter: Waiter,
    /// The last view that was looked through for it.
    seen: Arc<Seen>,
    counted: budget::Held,
    tell: oneshot::Sender<Word>,
    /// It is to be answered, wherever it stands.
    is_due: bool,
}

/// One who has something to hear, and is held no more.
pub(super) struct Heard {
    pub(super) counted: budget::Held,
    pub(super) tell: oneshot::Sender<Word>,
    pub(super) news: News,
}

/// Those who are held.
#[derive(Default)]
pub(super) struct Crowd {
    held: BTreeMap<Key, Held>,
    /// Whose turn may have come.
    in_question: BTreeSet<Key>,
    /// The last ones.
    ticks: VecDeque<Tick>,
}

impl Crowd {
    /// One more is held.
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

    /// One is held no more.
    pub(super) fn remove(&mut self, key: Key) {
        drop(self.take(key));
    }

    /// Something about this one may have changed.
    pub(super) fn question(&mut self, key: Key) {
        self.in_question.insert(key);
    }

    /// Something about any of them may have.
    pub(super) fn question_all(&mut self) {
        self.in_question.extend(self.held.keys());
    }

    /// Whoever waited with the tick's place or a lower one was called.
    pub(super) fn hear(&mut self, tick: Tick) {
        let called = self.held.range(..=(tick.through, u64::MAX));
        self.in_question.extend(called.map(|(key, _)| key));
        if self.ticks.len() == TICKS_MAX {
            self.ticks.pop_front();
        }
        self.ticks.push_back(tick);
    }

    /// Finds those whom a newer view concerns.
    pub(super) fn see(&mut self, newer: &Arc<Seen>) {
        for (key, held) in &mut self.held {
            held.is_due |= notice(newer) != notice(&held.waiter.seen);
            if held.is_due || held.waiter.is_concerned(&held.seen, newer) {
                self.in_question.insert(*key);
            }
            held.seen = newer.clone();
        }
    }

    /// Whether as many are in question as one question of the line asks for.
    pub(super) fn fills_a_question(&self) -> bool {
        self.in_question.len() >= LOOKS_CHUNK
    }

    /// Some of those in question, the first in line first: as many as one question of the line asks for.
    pub(super) fn take_some(&mut self) -> Vec<(Key, EntryId)> {
        let mut some = Vec::new();
        while some.len() < LOOKS_CHUNK
            && let Some(key) = self.in_question.pop_first()
        {
            some.extend(self.held.get(&key).map(|held| (key, held.waiter.id)));
        }
        some
    }

    /// Takes out one who was looked at, unless it waits as before.
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

    /// Has one look by itself, who is held no more.
    pub(super) fn send_to_look(&mut self, key: Key) {
        if let Some(Held { counted, tell, .. }) = self.take(key) {
            // Whoever does not listen any more lets go of the count with the word.
            let _ = tell.send(Word::Look(Some(counted)));
        }
    }

    /// The same for all.
    pub(super) fn send_all_to_look(&mut self) {
        for (_, Held { counted, tell, .. }) in self.take_all() {
            let _ = tell.send(Word::Look(Some(counted)));
        }
    }

    /// Tells all that the line does not answer.
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

    /// The record of a place that was promoted by a tick of these. Deadlines tell ticks apart, also where one of them was
    /// not heard; where they moved in a pause, nobody can say which it was.
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

/// What everybody who waits is told at once when it changes.
fn notice(seen: &Seen) -> (u32, bool, Entrance, Option<&str>) {
    let settings = seen.settings();
    (
        seen.view.configuration.generation,
        settings.paused,
        settings.entrance,
        settings.message.as_deref(),
    )
}
