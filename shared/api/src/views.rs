//! Caches a snapshot of each queue. The process asks the line for a queue at most once a second, however
//! many requests need it (single-flight).

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

/// The maximum age of a snapshot.
const FRESH: Duration = Duration::from_secs(1);
/// The maximum age of a failure. It is long enough that requests do not queue up behind an unavailable
/// store, and no longer.
const FRESH_FAILURE: Duration = Duration::from_millis(250);
/// The maximum age of the answer that the line is unavailable. A request that asks again waits until the
/// line has timed out.
const FRESH_AWAY: Duration = Duration::from_secs(1);
/// The same while another request finds out whether the line is back. Otherwise all requests would wait for
/// that.
const LOOKING_MAX: Duration = Duration::from_secs(5);
/// How many queues the cache keeps. A process serves few queues, and a client that invents names must not
/// fill the memory.
const QUEUES_MAX: usize = 1_000;

/// A snapshot of a queue as the line showed it, and what follows from it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) queue: QueueId,
    pub(crate) view: View,
    /// When turns come, according to this snapshot.
    pub(crate) forecast: Forecast,
    /// Derives tokens from visitors.
    pub(crate) ids: IdKey,
    /// Read just before the line was asked.
    asked_at: Instant,
}

impl Seen {
    pub(crate) fn settings(&self) -> &Settings {
        &self.view.configuration.settings
    }

    /// Line time in Unix milliseconds. It is never behind the line's clock, and ahead of it by at most the
    /// time that the line took to answer.
    pub(crate) fn now_ms(&self) -> u64 {
        self.view.now_ms.saturating_add(self.age_ms())
    }

    /// The age of the snapshot, in milliseconds.
    pub(crate) fn age_ms(&self) -> u64 {
        u64::try_from(self.asked_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Entries served per second, as measured lately; `None` before any were served.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.forecast.seen_per_second()
    }

    /// The expected wait at a position, in milliseconds. Pacing needs a number even if there is no
    /// estimate.
    pub(crate) fn eta_ms(&self, position: u64) -> u64 {
        self.forecast.eta_ms(position)
    }

    /// The estimated wait at a position; `None` if there is no estimate.
    pub(crate) fn estimate(&self, position: u64) -> Option<Estimate> {
        self.view.estimate(&self.forecast, position)
    }

    /// Until when a visitor who missed the turn may enter again at the old place, in Unix milliseconds,
    /// according to the record. `None` if entering now would not give the place back.
    pub(crate) fn grace_until_ms(&self, record: &Record) -> Option<u64> {
        let settings = self.settings();
        let until_ms = record.grace_until_ms(settings.grace_seconds)?;
        (settings.entrance == Entrance::Open && self.now_ms() <= until_ms).then_some(until_ms)
    }

    /// Returns the partition that holds the records of this queue's entries.
    pub(crate) fn shelf(&self) -> Shelf {
        Shelf::of(&self.queue, &self.view.configuration)
    }
}

/// Why there is no snapshot of a queue.
#[derive(Debug, Clone)]
pub(crate) enum Absence {
    /// Neither the line nor the backup has the queue.
    NoSuchQueue,
    /// The backup has the queue, and the line lost it.
    Recovering,
    /// The line gave no answer.
    LineAway(String),
    /// The line does not have the queue, and the backup gave no answer.
    BackupAway(String),
    /// The line gave an answer that makes no sense.
    Nonsense(String),
}

/// An answer, and the time at which it was current.
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

/// The cache of one queue: the last answer, and the lock of the request that asks for the next one.
struct Slot {
    turn: tokio::sync::Mutex<()>,
    latest: watch::Sender<Option<Answer>>,
    remembered: Remembered,
}

impl Slot {
    fn fresh(&self) -> Option<Answer> {
        self.latest.borrow().clone().filter(Answer::is_fresh)
    }

    /// Returns the last answer if it says that the line was unavailable a moment ago.
    fn away(&self) -> Option<Answer> {
        self.latest.borrow().clone().filter(Answer::says_away)
    }
}

/// The snapshots of the queues that one process serves.
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

    /// Returns a snapshot that is at most a second old. If several requests ask at once, one of them asks
    /// the line for all.
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

    /// Waits for a snapshot that is newer than the given one. It comes at most a second after that one.
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
                // The slot owns the sender, so this does not fail.
                _ = latest.changed() => {}
                () = sleep_until(seen.asked_at + FRESH) => return self.get(&seen.queue).await,
            }
        }
    }

    /// Drops the snapshot of a queue, because the line has just contradicted it.
    pub(crate) fn forget(&self, queue: &QueueId) {
        self.slot(queue).latest.send_replace(None);
    }

    /// How many queues the cache keeps.
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
            // A read never adds to the journal, so this answer makes no sense.
            LineError::JournalFull => Absence::Nonsense(error.to_string()),
        }
    }

    fn slot(&self, queue: &QueueId) -> Arc<Slot> {
        // No code panics while it holds this lock, so the map in a poisoned lock is still intact.
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(queue) {
            return slot.clone();
        }
        if slots.len() >= QUEUES_MAX {
            // Slots in use stay. Any other slot costs one more request to the line.
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
