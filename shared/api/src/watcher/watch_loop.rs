//! The loop of a watcher.
//!
//! The watcher subscribes to the queue's ticks and reads a new snapshot of the queue once a second. It
//! looks up the status of the polls whose turn may have come, several hundred in one request to the line.
//! It sends one request at a time unless each is full, so polls that become due meanwhile join the next
//! request. If a message is lost, or the subscription fails, the snapshot shows the same a second later.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::{
    FutureExt, Stream, StreamExt,
    future::BoxFuture,
    stream::{self, FuturesUnordered},
};
use tokio::{
    sync::{mpsc::UnboundedReceiver, oneshot},
    time::sleep,
};
use vestibule_domain::id::{EntryId, QueueId};
use vestibule_line::{EntryLine, EntryLookup, LineError, Tick, TickSubscription};

use crate::{
    budget::{HoldPermit, HoldPermits},
    held_polls::{HeldPoll, HeldPollKey, HeldPolls, PendingReply, Wakeup},
    queue_cache::{QueueCache, QueueLookupError, QueueSnapshot},
};

/// The pause before the next attempt to subscribe or to read a snapshot.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// When a queue moves to another server, or its server fails, all processes subscribe again. They spread
/// that over this time.
const RESUBSCRIBE_JITTER_MS_MAX: u64 = 500;
/// How many orders the watcher takes at once.
const COMMANDS_MAX: usize = 1_000;
/// How many status lookups are in flight if each is full: the line answers one while the watcher reads the
/// other.
const LOOKUPS_IN_FLIGHT_MAX: usize = 2;

/// What a watcher uses of the process: the line, the snapshots, and the permits that it releases.
#[derive(Clone)]
pub(crate) struct WatchContext {
    pub(crate) line: Arc<dyn EntryLine>,
    pub(crate) queue_cache: Arc<QueueCache>,
    pub(crate) permits: Arc<HoldPermits>,
}

/// What a poll tells the watcher of its queue.
pub(super) enum WatcherCommand {
    Hold(HeldPollKey, HeldPoll, HoldPermit, oneshot::Sender<Wakeup>),
    /// The hold has ended, and the poll looks up the status itself.
    End(HeldPollKey),
    /// The request of this poll is gone.
    Release(HeldPollKey),
}

/// Runs until the last poll is released.
pub(super) async fn run(
    context: WatchContext,
    snapshot: Arc<QueueSnapshot>,
    mut orders: UnboundedReceiver<WatcherCommand>,
) {
    let queue = snapshot.queue.clone();
    let mut watching = WatchLoop::default();
    let mut sounds = pin!(subscribe_to_ticks(context.line.clone(), queue.clone()));
    let mut newer = next_snapshot(&context.queue_cache, snapshot.clone(), Duration::ZERO);
    let mut last = snapshot;
    let mut looking = FuturesUnordered::new();
    let mut taken = Vec::new();
    loop {
        while let Some(batch) = watching.next_batch(looking.len()) {
            looking.push(look_up_batch(&*context.line, &queue, batch));
        }
        tokio::select! {
            count = orders.recv_many(&mut taken, COMMANDS_MAX) => {
                if count == 0 {
                    return;
                }
                taken.drain(..).for_each(|order| watching.handle_command(order));
            }
            Some(sound) = sounds.next() => watching.handle_event(sound),
            Some((batch, looks)) = looking.next() => release_and_reply(&context.permits, watching.handle_lookup(&batch, &looks)),
            view = &mut newer => {
                let pause = match view {
                    Ok(snapshot) => {
                        watching.is_line_in_doubt = false;
                        watching.held_polls.mark_concerned(&snapshot);
                        last = snapshot;
                        Duration::ZERO
                    }
                    Err(absence) => {
                        watching.handle_lookup_error(&absence);
                        RETRY_PAUSE
                    }
                };
                newer = next_snapshot(&context.queue_cache, last.clone(), pause);
            }
        }
    }
}

/// Waits for the next snapshot, after a pause.
fn next_snapshot(
    queue_cache: &Arc<QueueCache>,
    snapshot: Arc<QueueSnapshot>,
    pause: Duration,
) -> BoxFuture<'static, Result<Arc<QueueSnapshot>, QueueLookupError>> {
    let queue_cache = queue_cache.clone();
    async move {
        sleep(pause).await;
        queue_cache.get_newer_than(&snapshot).await
    }
    .boxed()
}

type Batch = Vec<(HeldPollKey, EntryId)>;

async fn look_up_batch(
    line: &dyn EntryLine,
    queue: &QueueId,
    batch: Batch,
) -> (Batch, Result<Vec<EntryLookup>, LineError>) {
    let ids: Vec<_> = batch.iter().map(|(_, id)| *id).collect();
    let looks = line.status_many(queue, &ids).await;
    (batch, looks)
}

/// Releases these polls together and then answers them. A separate task does so, which finishes even if a
/// client disconnects.
fn release_and_reply(permits: &Arc<HoldPermits>, heard: Vec<PendingReply>) {
    if heard.is_empty() {
        return;
    }
    let permits = permits.clone();
    tokio::spawn(async move {
        let (counted, told): (Vec<_>, Vec<_>) = heard
            .into_iter()
            .map(
                |PendingReply {
                     permit: counted,
                     reply: tell,
                     update: news,
                 }| (counted, (tell, news)),
            )
            .unzip();
        permits.release(counted).await;
        for (tell, news) in told {
            // A client that disconnected polls again.
            let _ = tell.send(Wakeup::Update(news));
        }
    });
}

/// What the subscription to a queue reports.
#[derive(Clone, Copy)]
enum SubscriptionEvent {
    /// The subscription works, for the first time or again. From now on it reports every tick, unless a
    /// message is lost.
    Subscribed,
    Tick(Tick),
}

/// Subscribes to the ticks of a queue, for as long as the caller polls the stream.
fn subscribe_to_ticks(line: Arc<dyn EntryLine>, queue: QueueId) -> impl Stream<Item = SubscriptionEvent> {
    stream::unfold(
        (line, queue, None::<TickSubscription>),
        |(line, queue, mut open)| async move {
            if let Some(changes) = &mut open {
                if let Some(tick) = changes.next().await {
                    return Some((SubscriptionEvent::Tick(tick), (line, queue, open)));
                }
                sleep(Duration::from_millis(rand::random_range(
                    0..RESUBSCRIBE_JITTER_MS_MAX,
                )))
                .await;
            }
            let begun = subscribe_with_retry(&*line, &queue).await;
            Some((SubscriptionEvent::Subscribed, (line, queue, Some(begun))))
        },
    )
}

/// Subscribes to a queue, and tries again until it succeeds.
async fn subscribe_with_retry(line: &dyn EntryLine, queue: &QueueId) -> TickSubscription {
    let mut is_told = false;
    loop {
        match line.subscribe(queue).await {
            Ok(changes) => return changes,
            Err(error) if !is_told => {
                is_told = true;
                tracing::warn!(
                    event = "line.subscribe_failed",
                    %queue,
                    cause = %error,
                    "cannot subscribe to the ticks of a queue, so held polls learn of a turn up to a \
                     second late; check that the Redis user may subscribe to vestibule:*"
                );
            }
            Err(_) => {}
        }
        sleep(RETRY_PAUSE).await;
    }
}

#[derive(Default)]
struct WatchLoop {
    held_polls: HeldPolls,
    /// The subscription works. It may have reported a change before the poll of the changed entry was
    /// added, so a new poll is looked up.
    is_subscribed: bool,
    /// The line did not answer a lookup. The next snapshot shows whether the line is unavailable or was
    /// slow once.
    is_line_in_doubt: bool,
}

impl WatchLoop {
    /// Returns the polls to look up next, if another lookup may be sent now.
    fn next_batch(&mut self, on_their_way: usize) -> Option<Batch> {
        let crowd = &mut self.held_polls;
        let is_time = on_their_way == 0 || (on_their_way < LOOKUPS_IN_FLIGHT_MAX && crowd.has_full_batch());
        let batch = (is_time && !self.is_line_in_doubt).then(|| crowd.take_batch())?;
        (!batch.is_empty()).then_some(batch)
    }

    fn handle_command(&mut self, order: WatcherCommand) {
        match order {
            WatcherCommand::Hold(key, waiter, counted, tell) => {
                self.held_polls.add(key, waiter, counted, tell);
                if self.is_subscribed {
                    self.held_polls.mark_for_lookup(key);
                }
            }
            WatcherCommand::End(key) => self.held_polls.send_to_lookup(key),
            WatcherCommand::Release(key) => self.held_polls.remove(key),
        }
    }

    fn handle_event(&mut self, sound: SubscriptionEvent) {
        match sound {
            SubscriptionEvent::Subscribed => {
                self.is_subscribed = true;
                self.held_polls.mark_all();
            }
            SubscriptionEvent::Tick(tick) => self.held_polls.mark_promoted(tick),
        }
    }

    /// Removes the polls that have something to report.
    fn handle_lookup(
        &mut self,
        batch: &Batch,
        looks: &Result<Vec<EntryLookup>, LineError>,
    ) -> Vec<PendingReply> {
        let mut heard = Vec::new();
        for (at, (key, _)) in batch.iter().enumerate() {
            match looks {
                Ok(looks) => heard.extend(self.held_polls.take_if_changed(*key, looks[at])),
                Err(LineError::Unavailable(_)) => {
                    self.is_line_in_doubt = true;
                    self.held_polls.mark_for_lookup(*key);
                }
                Err(_) => self.held_polls.send_to_lookup(*key),
            }
        }
        heard
    }

    /// Handles the lack of a snapshot.
    fn handle_lookup_error(&mut self, absence: &QueueLookupError) {
        match absence {
            // A status lookup would wait for the line once more.
            QueueLookupError::LineUnavailable(cause) => self.held_polls.report_line_unavailable(cause),
            // The status lookup of each poll finds out why there is no snapshot.
            _ => self.held_polls.send_all_to_lookup(),
        }
    }
}
