//! Writes the changes of queues into their outboxes, and sends what is in them to the event bus. See
//! `docs/adr/0044-events.md`.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::event_bus::{EventBus, SEND_EVENTS_MAX};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use tracing::{info, warn};
use vestibule_backup::{Backup, BackupError};
use vestibule_domain::{
    event_outbox::{EventOutbox, QueueLife, QueueObservation},
    id::QueueId,
    queue_event::QueueEvent,
};

use super::{send_backoff::SendBackoff, steps::STEPS_PER_KIND_MAX};

/// The time between two observations of a queue.
const OBSERVE_INTERVAL: Duration = Duration::from_secs(2);
/// The promoter gives up a call of the event bus that takes longer.
const SEND_TIMEOUT: Duration = Duration::from_secs(3);
/// The promoter gives up a read or a write of an outbox that takes longer.
const BACKUP_TIMEOUT: Duration = Duration::from_secs(3);
/// How often a write starts again because another process was first.
const WRITES_MAX: u32 = 4;

/// Tells the event bus what changes in the queues.
pub(super) struct Announcer {
    bus: Arc<dyn EventBus>,
    backup: Arc<dyn Backup>,
    queues: Mutex<HashMap<QueueId, AnnouncedQueue>>,
    backoff: SendBackoff,
    /// Limits how many queues are announced at a time. Steps that promote never wait for it.
    pub(super) permits: Semaphore,
}

#[derive(Default)]
struct AnnouncedQueue {
    observed_at: Option<Instant>,
    copy: Option<OutboxCopy>,
}

/// The outbox of a queue as this process knows it.
#[derive(Clone)]
struct OutboxCopy {
    outbox: EventOutbox,
    /// The revision in the backup; 0 if there is none.
    revision: u64,
    /// Whether the backup lacks changes of this copy, because it did not answer.
    is_unsaved: bool,
}

impl OutboxCopy {
    /// A copy of an outbox that the backup does not have yet.
    fn new(life: &QueueLife) -> Self {
        Self {
            outbox: EventOutbox::new(life.clone()),
            revision: 0,
            is_unsaved: false,
        }
    }
}

impl Announcer {
    pub(super) fn new(bus: Arc<dyn EventBus>, backup: Arc<dyn Backup>) -> Self {
        Self {
            bus,
            backup,
            queues: Mutex::default(),
            backoff: SendBackoff::default(),
            permits: Semaphore::new(STEPS_PER_KIND_MAX),
        }
    }

    /// Has this run read the outboxes again: another process may have changed them. Unsaved changes stay.
    pub(super) fn begin_run(&self) {
        self.backoff.begin_run();
        for queue in self.lock().values_mut() {
            queue.observed_at = None;
            queue.copy = queue.copy.take().filter(|copy| copy.is_unsaved);
        }
    }

    /// Drops the state of queues that the listing lacks.
    pub(super) fn retain_queues(&self, queues: &HashSet<QueueId>) {
        self.lock().retain(|queue, _| queues.contains(queue));
    }

    /// Whether it is time to observe a queue. Counts as observing it.
    pub(super) fn take_turn(&self, queue: &QueueId) -> bool {
        let now = Instant::now();
        let mut queues = self.lock();
        let observed_at = &mut queues.entry(queue.clone()).or_default().observed_at;
        let is_due = observed_at.is_none_or(|at| now.duration_since(at) >= OBSERVE_INTERVAL);
        if is_due {
            *observed_at = Some(now);
        }
        is_due
    }

    /// The life of a queue that its outbox knows.
    pub(super) async fn known_life(&self, queue: &QueueId) -> Result<Option<QueueLife>, String> {
        let copy = self.read_copy(queue).await?;
        Ok(copy.map(|copy| copy.outbox.life().clone()))
    }

    /// Writes what changed into the outbox, and sends what is in it.
    pub(super) async fn announce(&self, queue: &QueueId, seen: &QueueObservation) -> Result<(), String> {
        let life = &seen.life;
        let mut pending = self
            .update(queue, life, seen.at_ms, |outbox| outbox.notice(queue, seen))
            .await?;
        while !pending.is_empty() && self.backoff.may_send() {
            let events = &pending[..pending.len().min(SEND_EVENTS_MAX)];
            let sent = self.send(queue, events).await;
            if sent.is_empty() {
                break;
            }
            pending = self
                .update(queue, life, seen.at_ms, |outbox| outbox.acknowledge(&sent))
                .await?;
        }
        Ok(())
    }

    /// Sends events, and returns the ids of those that the bus accepted.
    async fn send(&self, queue: &QueueId, events: &[QueueEvent]) -> BTreeSet<String> {
        let sending = timeout(SEND_TIMEOUT, self.bus.send(queue, events)).await;
        let Ok(outcomes) = sending else {
            self.backoff
                .record_failure("the event bus did not answer in time");
            return BTreeSet::new();
        };
        let mut sent = BTreeSet::new();
        let mut problem = None;
        for (event, outcome) in events.iter().zip(outcomes) {
            match outcome {
                Ok(()) => {
                    let (id, kind) = (&event.id, event.kind.detail_type());
                    info!(event = "queue.event_sent", %queue, id, kind, "sent an event to the event bus");
                    sent.insert(event.id.clone());
                }
                Err(reason) => problem = Some(reason),
            }
        }
        match problem {
            Some(problem) => self.backoff.record_failure(&problem),
            None => self.backoff.record_success(),
        }
        sent
    }

    /// Changes the outbox of a queue by compare-and-swap, and returns the events to be sent.
    async fn update(
        &self,
        queue: &QueueId,
        life: &QueueLife,
        now_ms: u64,
        change: impl Fn(&mut EventOutbox) -> bool,
    ) -> Result<Vec<QueueEvent>, String> {
        for _ in 0..WRITES_MAX {
            let copy = self.read_copy(queue).await?;
            let mut copy = copy.unwrap_or_else(|| OutboxCopy::new(life));
            let dropped = copy.outbox.dropped();
            let has_changed = change(&mut copy.outbox);
            if (has_changed || copy.is_unsaved) && !self.save(queue, &mut copy, now_ms).await {
                self.keep(queue, None);
                continue;
            }
            if copy.outbox.dropped() > dropped {
                warn!(
                    event = "queue.event_dropped",
                    %queue,
                    "dropped the oldest event of the queue, because the event bus has accepted none for long"
                );
            }
            let pending = copy.outbox.pending().to_vec();
            self.keep(queue, Some(copy));
            return Ok(pending);
        }
        Err("other processes keep changing the outbox of the queue".to_owned())
    }

    /// Writes a changed copy. Returns `false` if another process has changed the outbox since the copy was read. If the
    /// backup does not answer, the copy stays unsaved, and the next call writes it: an outage of the backup holds no event
    /// up.
    async fn save(&self, queue: &QueueId, copy: &mut OutboxCopy, now_ms: u64) -> bool {
        let writing = self
            .backup
            .replace_outbox(queue, copy.revision, &copy.outbox, now_ms);
        match in_time(writing).await {
            Ok(true) => (copy.revision, copy.is_unsaved) = (copy.revision + 1, false),
            Ok(false) => return false,
            Err(problem) => {
                log_unsaved(queue, copy, &problem);
                copy.is_unsaved = true;
            }
        }
        true
    }

    async fn read_copy(&self, queue: &QueueId) -> Result<Option<OutboxCopy>, String> {
        let known = self.lock().get(queue).and_then(|known| known.copy.clone());
        if known.is_some() {
            return Ok(known);
        }
        let stored = in_time(self.backup.read_outbox(queue)).await?;
        let copy = stored.map(|stored| OutboxCopy {
            outbox: stored.outbox,
            revision: stored.revision,
            is_unsaved: false,
        });
        self.keep(queue, copy.clone());
        Ok(copy)
    }

    fn keep(&self, queue: &QueueId, copy: Option<OutboxCopy>) {
        self.lock().entry(queue.clone()).or_default().copy = copy;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueId, AnnouncedQueue>> {
        // No code panics halfway through a change of the map, so it is consistent even if the lock is poisoned.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a call of the backup, and describes its failure.
async fn in_time<T>(call: impl Future<Output = Result<T, BackupError>>) -> Result<T, String> {
    match timeout(BACKUP_TIMEOUT, call).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("the backup did not answer in time".to_owned()),
    }
}

/// The log shows the first failure only.
fn log_unsaved(queue: &QueueId, copy: &OutboxCopy, problem: &str) {
    if !copy.is_unsaved {
        warn!(
            event = "queue.event_unsaved",
            %queue,
            problem,
            "could not write the events of the queue to the backup; the promoter sends them, and writes them later"
        );
    }
}
