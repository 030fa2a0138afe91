//! The loop of a watcher.
//!
//! The watcher subscribes to the queue's ticks and reads a new snapshot of the queue once a second.
//! It looks up the status of the polls whose turn may have come, several hundred in one request to
//! the line. It sends one request at a time unless each is full, so polls that become due meanwhile
//! join the next request. If a message is lost, or the subscription fails, the snapshot shows the
//! same a second later.

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
use vestibule_line::{EntryLookup, Line, LineError, Tick, TickSubscription};

use super::{
    budget::{HoldPermit, PollPermits},
    held_polls::{HeldPoll, HeldPollKey, HeldPolls, PendingReply, Wakeup},
};
use crate::queue::{QueueCache, QueueLookupError, QueueSnapshot};

/// The pause before the next attempt to subscribe or to read a snapshot.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// When a queue moves to another server, or its server fails, all processes subscribe again. They spread
/// that over this time.
const RESUBSCRIBE_JITTER_MS_MAX: u64 = 500;
/// How many commands the watcher takes at once.
const COMMANDS_MAX: usize = 1_000;
/// How many status lookups are in flight if each is full: the line answers one while the watcher
/// reads the other.
const LOOKUPS_IN_FLIGHT_MAX: usize = 2;

/// What a watcher uses of the process: the line, the snapshots, and the permits that it releases.
#[derive(Clone)]
pub(super) struct WatchContext {
    pub(super) line: Line,
    pub(super) queue_cache: Arc<QueueCache>,
    pub(super) permits: Arc<PollPermits>,
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
    mut commands: UnboundedReceiver<WatcherCommand>,
) {
    let queue = snapshot.queue.clone();
    let mut watch_loop = WatchLoop::default();
    let mut events = pin!(subscribe_to_ticks(context.line.clone(), queue.clone()));
    let mut newer_snapshot = next_snapshot(&context.queue_cache, snapshot.clone(), Duration::ZERO);
    let mut last_snapshot = snapshot;
    let mut lookups_in_flight = FuturesUnordered::new();
    let mut received = Vec::new();
    loop {
        while let Some(batch) = watch_loop.next_batch(lookups_in_flight.len()) {
            lookups_in_flight.push(look_up_batch(&context.line, &queue, batch));
        }
        tokio::select! {
            count = commands.recv_many(&mut received, COMMANDS_MAX) => {
                if count == 0 {
                    return;
                }
                received.drain(..).for_each(|command| watch_loop.handle_command(command));
            }
            Some(event) = events.next() => watch_loop.handle_event(event),
            Some((batch, lookups)) = lookups_in_flight.next() => release_and_reply(&context.permits, watch_loop.handle_lookup(&batch, &lookups)),
            result = &mut newer_snapshot => {
                let pause = match result {
                    Ok(snapshot) => {
                        watch_loop.is_line_in_doubt = false;
                        watch_loop.held_polls.mark_concerned(&snapshot);
                        last_snapshot = snapshot;
                        Duration::ZERO
                    }
                    Err(error) => {
                        watch_loop.handle_lookup_error(&error);
                        RETRY_PAUSE
                    }
                };
                newer_snapshot = next_snapshot(&context.queue_cache, last_snapshot.clone(), pause);
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
    line: &Line,
    queue: &QueueId,
    batch: Batch,
) -> (Batch, Result<Vec<EntryLookup>, LineError>) {
    let ids: Vec<_> = batch.iter().map(|(_, id)| *id).collect();
    let lookups = line.status_many(queue, &ids).await;
    (batch, lookups)
}

/// Releases these polls together and then answers them. A separate task does so, which finishes
/// even if a client disconnects.
fn release_and_reply(hold_permits: &Arc<PollPermits>, replies: Vec<PendingReply>) {
    if replies.is_empty() {
        return;
    }
    let hold_permits = hold_permits.clone();
    tokio::spawn(async move {
        let (permits, replies): (Vec<_>, Vec<_>) = replies
            .into_iter()
            .map(|pending| (pending.permit, (pending.reply, pending.update)))
            .unzip();
        hold_permits.release(permits).await;
        for (reply, update) in replies {
            // A client that disconnected polls again.
            let _ = reply.send(Wakeup::Update(Box::new(update)));
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
fn subscribe_to_ticks(line: Line, queue: QueueId) -> impl Stream<Item = SubscriptionEvent> {
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
            let subscription = subscribe_with_retry(&line, &queue).await;
            Some((SubscriptionEvent::Subscribed, (line, queue, Some(subscription))))
        },
    )
}

/// Subscribes to a queue, and tries again until it succeeds.
async fn subscribe_with_retry(line: &Line, queue: &QueueId) -> TickSubscription {
    let mut is_reported = false;
    loop {
        match line.subscribe(queue).await {
            Ok(changes) => return changes,
            Err(error) if !is_reported => {
                is_reported = true;
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
    fn next_batch(&mut self, in_flight: usize) -> Option<Batch> {
        let held_polls = &mut self.held_polls;
        let is_time = in_flight == 0 || (in_flight < LOOKUPS_IN_FLIGHT_MAX && held_polls.has_full_batch());
        let batch = (is_time && !self.is_line_in_doubt).then(|| held_polls.take_batch())?;
        (!batch.is_empty()).then_some(batch)
    }

    fn handle_command(&mut self, command: WatcherCommand) {
        match command {
            WatcherCommand::Hold(key, poll, permit, reply) => {
                self.held_polls.add(key, poll, permit, reply);
                if self.is_subscribed {
                    self.held_polls.mark_for_lookup(key);
                }
            }
            WatcherCommand::End(key) => self.held_polls.send_to_lookup(key),
            WatcherCommand::Release(key) => self.held_polls.remove(key),
        }
    }

    fn handle_event(&mut self, event: SubscriptionEvent) {
        match event {
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
        lookups: &Result<Vec<EntryLookup>, LineError>,
    ) -> Vec<PendingReply> {
        let mut replies = Vec::new();
        for (at, (key, _)) in batch.iter().enumerate() {
            match lookups {
                Ok(lookups) => replies.extend(self.held_polls.take_if_changed(*key, lookups[at])),
                Err(LineError::Unavailable(_)) => {
                    self.is_line_in_doubt = true;
                    self.held_polls.mark_for_lookup(*key);
                }
                Err(_) => self.held_polls.send_to_lookup(*key),
            }
        }
        replies
    }

    /// Handles the lack of a snapshot.
    fn handle_lookup_error(&mut self, error: &QueueLookupError) {
        match error {
            // A status lookup would wait for the line once more.
            QueueLookupError::LineUnavailable(cause) => self.held_polls.report_line_unavailable(cause),
            // The status lookup of each poll finds out why there is no snapshot.
            _ => self.held_polls.send_all_to_lookup(),
        }
    }
}
