//! How every queue stands, asked of the line once a second at most, however many ask.

mod known;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use vestibule_backup::{Backup, Shelf};
use vestibule_domain::{
    estimate::{Estimate, Forecast},
    id::{IdKey, QueueId, RootKey},
    record::Record,
    settings::{Entrance, Settings},
};
use vestibule_line::{Line, LineError, View};

use self::known::Remembered;
pub(crate) use self::known::{Known, READ_TIMEOUT};

/// How old a view may be.
const FRESH: Duration = Duration::from_secs(1);
/// How old a failure may be: long enough that a crowd does not queue up behind what is away, and no longer.
const FRESH_FAILURE: Duration = Duration::from_millis(250);
/// How old the news may be that the line is away: whoever asks for it waits until it has not answered.
const FRESH_AWAY: Duration = Duration::from_secs(1);
/// How old it may be for those who ask while somebody looks whether the line is back. They would all wait.
const LOOKING_MAX: Duration = Duration::from_secs(5);
/// How many queues are kept: a process serves few, and somebody who makes names up fills no memory.
const QUEUES_MAX: usize = 1_000;

/// A queue as the line showed it, and what follows from that.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) queue: QueueId,
    pub(crate) view: View,
    /// When turns come, by that view.
    pub(crate) forecast: Forecast,
    /// Turns visitors into tokens.
    pub(crate) ids: IdKey,
    /// From just before the line was asked.
    asked_at: Instant,
}

impl Seen {
    pub(crate) fn settings(&self) -> &Settings {
        &self.view.configuration.settings
    }

    /// Line time. Never behind it, and ahead of it by the time that the line took to answer at most.
    pub(crate) fn now_ms(&self) -> u64 {
        self.view.now_ms.saturating_add(self.age_ms())
    }

    /// How old it is, in milliseconds.
    pub(crate) fn age_ms(&self) -> u64 {
        u64::try_from(self.asked_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Entries served a second as seen lately; `None` before any were.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.forecast.seen_per_second()
    }

    /// The expected wait of one position, in milliseconds: for pacing, which needs some number always.
    pub(crate) fn eta_ms(&self, position: u64) -> u64 {
        self.forecast.eta_ms(position)
    }

    /// How long one at this position will wait; `None` where nobody can say.
    pub(crate) fn estimate(&self, position: u64) -> Option<Estimate> {
        self.view.estimate(&self.forecast, position)
    }

    /// Until when whoever missed the turn may enter again at the old place, by the record; `None` where entering now would
    /// not give it back.
    pub(crate) fn grace_until_ms(&self, record: &Record) -> Option<u64> {
        let settings = self.settings();
        let until_ms = record.grace_until_ms(settings.grace_seconds)?;
        (settings.entrance == Entrance::Open && self.now_ms() <= until_ms).then_some(until_ms)
    }

    /// Where the records of its entries are.
    pub(crate) fn shelf(&self) -> Shelf {
        Shelf::of(&self.queue, &self.view.configuration)
    }
}

/// Why there is nothing to see.
#[derive(Debug, Clone)]
pub(crate) enum Absence {
    /// Neither the line nor the backup has the queue.
    NoSuchQueue,
    /// The backup has it, and the line lost it.
    Recovering,
    /// The line gave no answer.
    LineAway(String),
    /// The line does not have it, and the backup gave no answer.
    BackupAway(String),
    /// The line's answer makes no sense.
    Nonsense(String),
}

/// An answer and when it was current.
#[derive(Clone)]
struct Answer {
    at: Instant,
    seen: Result<Arc<Seen>, Absence>,
}

impl Answer {
    fn is_fresh(&self) -> bool {
        let fresh = match self.seen {
            Ok(_) => FRESH,
            Err(Absence::LineAway(_)) => FRESH_AWAY,
            Err(_) => FRESH_FAILURE,
        };
        self.at.elapsed() < fresh
    }

    fn says_away(&self) -> bool {
        matches!(self.seen, Err(Absence::LineAway(_))) && self.at.elapsed() < LOOKING_MAX
    }
}

/// One queue: the last answer, and whose turn it is to ask for the next one.
struct Slot {
    turn: tokio::sync::Mutex<()>,
    latest: watch::Sender<Option<Answer>>,
    remembered: Remembered,
}

impl Slot {
    fn fresh(&self) -> Option<Answer> {
        self.latest.borrow().clone().filter(Answer::is_fresh)
    }

    /// That the line was away a moment ago, where it was.
    fn away(&self) -> Option<Answer> {
        self.latest.borrow().clone().filter(Answer::says_away)
    }
}

/// The views of one process.
pub(crate) struct Views {
    line: Arc<dyn Line>,
    backup: Arc<dyn Backup>,
    root: RootKey,
    slots: Mutex<HashMap<QueueId, Arc<Slot>>>,
}

impl Views {
    pub(crate) fn new(line: Arc<dyn Line>, backup: Arc<dyn Backup>, root: RootKey) -> Self {
        Self {
            line,
            backup,
            root,
            slots: Mutex::default(),
        }
    }

    /// How a queue stands, or stood a second ago at most. Of many who ask at once, one asks the line.
    pub(crate) async fn get(&self, queue: &QueueId) -> Result<Arc<Seen>, Absence> {
        let slot = self.slot(queue);
        if let Some(answer) = slot.fresh() {
            return answer.seen;
        }
        let _turn = match (slot.turn.try_lock(), slot.away()) {
            (Ok(turn), _) => turn,
            (Err(_), Some(answer)) => return answer.seen,
            (Err(_), None) => slot.turn.lock().await,
        };
        if let Some(answer) = slot.fresh() {
            return answer.seen;
        }
        let answer = self.ask(queue).await;
        if let Ok(seen) = &answer.seen {
            slot.remembered.keep(seen);
        }
        slot.latest.send_replace(Some(answer.clone()));
        answer.seen
    }

    /// The first view that is newer than one seen before; a second after that one at the latest.
    pub(crate) async fn after(&self, seen: &Seen) -> Result<Arc<Seen>, Absence> {
        let slot = self.slot(&seen.queue);
        let mut latest = slot.latest.subscribe();
        loop {
            let newer = latest
                .borrow_and_update()
                .clone()
                .filter(|answer| answer.at > seen.asked_at);
            if let Some(answer) = newer {
                return answer.seen;
            }
            tokio::select! {
                // The sender lives in the slot, so this does not fail.
                _ = latest.changed() => {}
                () = sleep_until(seen.asked_at + FRESH) => return self.get(&seen.queue).await,
            }
        }
    }

    /// Drops what is known of a queue: the line has just said otherwise.
    pub(crate) fn forget(&self, queue: &QueueId) {
        self.slot(queue).latest.send_replace(None);
    }

    /// How many queues are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    async fn ask(&self, queue: &QueueId) -> Answer {
        let asked_at = Instant::now();
        match self.line.view(queue).await {
            Ok(view) => {
                let ids = IdKey::derive(&self.root, queue, &view.configuration.salt);
                let seen = Seen {
                    queue: queue.clone(),
                    forecast: view.forecast(),
                    view,
                    ids,
                    asked_at,
                };
                Answer {
                    at: asked_at,
                    seen: Ok(Arc::new(seen)),
                }
            }
            Err(error) => {
                let seen = Err(self.absence(queue, error).await);
                Answer {
                    at: Instant::now(),
                    seen,
                }
            }
        }
    }

    async fn absence(&self, queue: &QueueId, error: LineError) -> Absence {
        match error {
            LineError::Unknown => match self.backup.queue(queue).await {
                Ok(Some(_)) => Absence::Recovering,
                Ok(None) => Absence::NoSuchQueue,
                Err(error) => Absence::BackupAway(error.to_string()),
            },
            LineError::Unavailable(cause) => Absence::LineAway(cause),
            LineError::Nonsense(cause) => Absence::Nonsense(cause),
            // No look adds to the journal.
            LineError::JournalFull => Absence::Nonsense(error.to_string()),
        }
    }

    fn slot(&self, queue: &QueueId) -> Arc<Slot> {
        // Nothing in here panics half-way through, so a poisoned lock guards a map that is whole.
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(queue) {
            return slot.clone();
        }
        if slots.len() >= QUEUES_MAX {
            // Those in use keep theirs; the others are a question away.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        let slot = Arc::new(Slot {
            turn: tokio::sync::Mutex::new(()),
            latest: watch::Sender::new(None),
            remembered: Remembered::default(),
        });
        slots.insert(queue.clone(), slot.clone());
        slot
    }
}
