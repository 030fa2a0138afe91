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
use tokio::{sync::mpsc::UnboundedReceiver, time::sleep};
use vestibule_domain::id::{EntryId, QueueId};
use vestibule_line::{Changes, Line, LineError, Look, Tick};

use super::Order;
use crate::{
    Edge,
    crowd::{Crowd, Heard, Key, Word},
    views::{Absence, Seen},
};

/// The pause before the next attempt to subscribe or to read a snapshot.
const AGAIN: Duration = Duration::from_secs(1);
/// When a queue moves to another server, or its server fails, all processes subscribe again. They spread
/// that over this time.
const ANEW_MS_MAX: u64 = 500;
/// How many orders the watcher takes at once.
const ORDERS_MAX: usize = 1_000;
/// How many status lookups are in flight if each is full: the line answers one while the watcher reads the
/// other.
const QUESTIONS_MAX: usize = 2;

/// Runs until the last poll is released.
pub(super) async fn run(edge: Arc<Edge>, seen: Arc<Seen>, mut orders: UnboundedReceiver<Order>) {
    let queue = seen.queue.clone();
    let mut watching = Watching::default();
    let mut sounds = pin!(listen(edge.line.clone(), queue.clone()));
    let mut newer = after(&edge, seen.clone(), Duration::ZERO);
    let mut last = seen;
    let mut looking = FuturesUnordered::new();
    let mut taken = Vec::new();
    loop {
        while let Some(batch) = watching.next_batch(looking.len()) {
            looking.push(look(&*edge.line, &queue, batch));
        }
        tokio::select! {
            count = orders.recv_many(&mut taken, ORDERS_MAX) => {
                if count == 0 {
                    return;
                }
                taken.drain(..).for_each(|order| watching.obey(order));
            }
            Some(sound) = sounds.next() => watching.hear(sound),
            Some((batch, looks)) = looking.next() => answer(&edge, watching.looked(&batch, &looks)),
            view = &mut newer => {
                let pause = match view {
                    Ok(seen) => {
                        watching.is_in_doubt = false;
                        watching.crowd.see(&seen);
                        last = seen;
                        Duration::ZERO
                    }
                    Err(absence) => {
                        watching.lose(&absence);
                        AGAIN
                    }
                };
                newer = after(&edge, last.clone(), pause);
            }
        }
    }
}

/// Waits for the next snapshot, after a pause.
fn after(
    edge: &Arc<Edge>,
    seen: Arc<Seen>,
    pause: Duration,
) -> BoxFuture<'static, Result<Arc<Seen>, Absence>> {
    let edge = edge.clone();
    async move {
        sleep(pause).await;
        edge.views.after(&seen).await
    }
    .boxed()
}

type Batch = Vec<(Key, EntryId)>;

async fn look(line: &dyn Line, queue: &QueueId, batch: Batch) -> (Batch, Result<Vec<Look>, LineError>) {
    let ids: Vec<_> = batch.iter().map(|(_, id)| *id).collect();
    let looks = line.looks(queue, &ids).await;
    (batch, looks)
}

/// Releases these polls together and then answers them. A separate task does so, which finishes even if a
/// client disconnects.
fn answer(edge: &Arc<Edge>, heard: Vec<Heard>) {
    if heard.is_empty() {
        return;
    }
    let edge = edge.clone();
    tokio::spawn(async move {
        let (counted, told): (Vec<_>, Vec<_>) = heard
            .into_iter()
            .map(|Heard { counted, tell, news }| (counted, (tell, news)))
            .unzip();
        edge.budget.release(counted).await;
        for (tell, news) in told {
            // A client that disconnected polls again.
            let _ = tell.send(Word::News(news));
        }
    });
}

/// What the subscription to a queue reports.
#[derive(Clone, Copy)]
enum Sound {
    /// The subscription works, for the first time or again. From now on it reports every tick, unless a
    /// message is lost.
    Begun,
    Tick(Tick),
}

/// Subscribes to the ticks of a queue, for as long as the caller polls the stream.
fn listen(line: Arc<dyn Line>, queue: QueueId) -> impl Stream<Item = Sound> {
    stream::unfold(
        (line, queue, None::<Changes>),
        |(line, queue, mut open)| async move {
            if let Some(changes) = &mut open {
                if let Some(tick) = changes.next().await {
                    return Some((Sound::Tick(tick), (line, queue, open)));
                }
                sleep(Duration::from_millis(rand::random_range(0..ANEW_MS_MAX))).await;
            }
            let begun = begin(&*line, &queue).await;
            Some((Sound::Begun, (line, queue, Some(begun))))
        },
    )
}

/// Subscribes to a queue, and tries again until it succeeds.
async fn begin(line: &dyn Line, queue: &QueueId) -> Changes {
    let mut is_told = false;
    loop {
        match line.changes(queue).await {
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
        sleep(AGAIN).await;
    }
}

#[derive(Default)]
struct Watching {
    crowd: Crowd,
    /// The subscription works. It may have reported a change before the poll of the changed entry was
    /// added, so a new poll is looked up.
    is_listening: bool,
    /// The line did not answer a lookup. The next snapshot shows whether the line is unavailable or was
    /// slow once.
    is_in_doubt: bool,
}

impl Watching {
    /// Returns the polls to look up next, if another lookup may be sent now.
    fn next_batch(&mut self, on_their_way: usize) -> Option<Batch> {
        let crowd = &mut self.crowd;
        let is_time = on_their_way == 0 || (on_their_way < QUESTIONS_MAX && crowd.fills_a_question());
        let batch = (is_time && !self.is_in_doubt).then(|| crowd.take_some())?;
        (!batch.is_empty()).then_some(batch)
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Hold(key, waiter, counted, tell) => {
                self.crowd.add(key, waiter, counted, tell);
                if self.is_listening {
                    self.crowd.question(key);
                }
            }
            Order::End(key) => self.crowd.send_to_look(key),
            Order::Release(key) => self.crowd.remove(key),
        }
    }

    fn hear(&mut self, sound: Sound) {
        match sound {
            Sound::Begun => {
                self.is_listening = true;
                self.crowd.question_all();
            }
            Sound::Tick(tick) => self.crowd.hear(tick),
        }
    }

    /// Removes the polls that have something to report.
    fn looked(&mut self, batch: &Batch, looks: &Result<Vec<Look>, LineError>) -> Vec<Heard> {
        let mut heard = Vec::new();
        for (at, (key, _)) in batch.iter().enumerate() {
            match looks {
                Ok(looks) => heard.extend(self.crowd.looked(*key, looks[at])),
                Err(LineError::Unavailable(_)) => {
                    self.is_in_doubt = true;
                    self.crowd.question(*key);
                }
                Err(_) => self.crowd.send_to_look(*key),
            }
        }
        heard
    }

    /// Handles the lack of a snapshot.
    fn lose(&mut self, absence: &Absence) {
        match absence {
            // A status lookup would wait for the line once more.
            Absence::LineAway(cause) => self.crowd.tell_line_away(cause),
            // The status lookup of each poll finds out why there is no snapshot.
            _ => self.crowd.send_all_to_look(),
        }
    }
}
