//! Watching a queue for all who are held on it: one watcher for each queue and process, from the first of them to the last.
//!
//! It listens to the queue's ticks and renews the view of it once a second. Those whose turn may have come it looks at
//! together: several hundred by one question of the line, and one question at a time, so that whoever comes in question
//! meanwhile is in the next one. Where a message is lost, or nobody can listen, the view says the same a second later.

use std::{
    collections::{HashMap, hash_map::Entry},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt, Stream, StreamExt,
    future::BoxFuture,
    stream::{self, FuturesUnordered},
};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    time::sleep,
};

use super::{
    Edge,
    crowd::{Crowd, Key, Waiter, Word},
    views::{Absence, Seen},
};
use crate::{
    domain::id::{EntryId, QueueId},
    line::{Changes, Line, LineError, Look, Tick},
};

/// How soon somebody tries again who could not listen.
const AGAIN: Duration = Duration::from_secs(1);
/// Where a queue moved, or its server fell, all processes begin anew: spread over so long.
const ANEW_MS_MAX: u64 = 500;
/// So many orders are taken at once.
const ORDERS_MAX: usize = 1_000;

/// The watchers of one process.
#[derive(Default)]
pub(super) struct Watchers(Mutex<Watched>);

#[derive(Default)]
struct Watched {
    queues: HashMap<QueueId, Watcher>,
    /// How many were ever held.
    count: u64,
}

struct Watcher {
    orders: UnboundedSender<Order>,
    held: usize,
}

enum Order {
    Hold(Key, Waiter, oneshot::Sender<Word>),
    Release(Key),
}

impl Watchers {
    /// Watches for one more, until dropped.
    pub(super) fn watch<'a>(&'a self, edge: &Arc<Edge>, waiter: &Waiter) -> Watch<'a> {
        let (tell, word) = oneshot::channel();
        let queue = &waiter.seen.queue;
        let mut watched = self.watched();
        watched.count += 1;
        let key = (waiter.score, watched.count);
        let watcher = watched.queues.entry(queue.clone()).or_insert_with(|| {
            let (order, orders) = unbounded_channel();
            tokio::spawn(run(edge.clone(), waiter.seen.clone(), orders));
            Watcher {
                orders: order,
                held: 0,
            }
        });
        watcher.held += 1;
        // Where the watcher is gone, the word that never comes says so.
        let _ = watcher.orders.send(Order::Hold(key, waiter.clone(), tell));
        Watch {
            watchers: self,
            queue: queue.clone(),
            key,
            word,
        }
    }

    /// How many queues are watched.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.watched().queues.len()
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        // Nothing in here panics half-way through, so a poisoned lock guards a map that is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One for whom a queue is watched.
pub(super) struct Watch<'a> {
    watchers: &'a Watchers,
    queue: QueueId,
    key: Key,
    word: oneshot::Receiver<Word>,
}

impl Watch<'_> {
    /// What there is to tell.
    pub(super) async fn word(&mut self) -> Word {
        (&mut self.word).await.unwrap_or(Word::Look)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Entry::Occupied(mut watcher) = self.watchers.watched().queues.entry(self.queue.clone()) {
            watcher.get_mut().held -= 1;
            if watcher.get().held == 0 {
                // And with it the watcher, which has nobody left to take orders from.
                watcher.remove();
            } else {
                let _ = watcher.get().orders.send(Order::Release(self.key));
            }
        }
    }
}

/// Until the last one is released.
async fn run(edge: Arc<Edge>, seen: Arc<Seen>, mut orders: UnboundedReceiver<Order>) {
    let queue = seen.queue.clone();
    let mut watching = Watching::default();
    let mut heard = pin!(listen(edge.line.clone(), queue.clone()));
    let mut newer = after(&edge, seen.clone(), Duration::ZERO);
    let mut last = seen;
    let mut looking = FuturesUnordered::new();
    let mut taken = Vec::new();
    loop {
        if looking.is_empty() && !watching.is_in_doubt {
            let batch = watching.crowd.take_some();
            if !batch.is_empty() {
                looking.push(look(&*edge.line, &queue, batch));
            }
        }
        tokio::select! {
            count = orders.recv_many(&mut taken, ORDERS_MAX) => {
                if count == 0 {
                    return;
                }
                taken.drain(..).for_each(|order| watching.obey(order));
            }
            Some(heard) = heard.next() => watching.hear(heard),
            Some((batch, looks)) = looking.next() => watching.looked(&batch, &looks),
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

/// The next view, after a pause.
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

/// What is heard of a queue.
#[derive(Clone, Copy)]
enum Heard {
    /// From now on every tick is, unless a message is lost: for the first time, or anew.
    Begun,
    Tick(Tick),
}

/// Listens for as long as it is asked for the next thing heard.
fn listen(line: Arc<dyn Line>, queue: QueueId) -> impl Stream<Item = Heard> {
    stream::unfold(
        (line, queue, None::<Changes>),
        |(line, queue, mut open)| async move {
            if let Some(changes) = &mut open {
                if let Some(tick) = changes.next().await {
                    return Some((Heard::Tick(tick), (line, queue, open)));
                }
                sleep(Duration::from_millis(rand::random_range(0..ANEW_MS_MAX))).await;
            }
            let begun = begin(&*line, &queue).await;
            Some((Heard::Begun, (line, queue, Some(begun))))
        },
    )
}

/// Begins to listen, once that is possible.
async fn begin(line: &dyn Line, queue: &QueueId) -> Changes {
    let mut is_told = false;
    loop {
        match line.changes(queue).await {
            Ok(changes) => return changes,
            Err(error) if !is_told => {
                is_told = true;
                tracing::warn!(%queue, cause = %error, "cannot listen: held polls see a turn within a second");
            }
            Err(_) => {}
        }
        sleep(AGAIN).await;
    }
}

#[derive(Default)]
struct Watching {
    crowd: Crowd,
    /// It has begun to: what happened since somebody was looked at may have been said already.
    is_listening: bool,
    /// The line did not answer: whether it is away, or was slow once, the next view says.
    is_in_doubt: bool,
}

impl Watching {
    fn obey(&mut self, order: Order) {
        match order {
            Order::Hold(key, waiter, tell) => {
                self.crowd.add(key, waiter, tell);
                if self.is_listening {
                    self.crowd.question(key);
                }
            }
            Order::Release(key) => self.crowd.remove(key),
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Begun => {
                self.is_listening = true;
                self.crowd.question_all();
            }
            Heard::Tick(tick) => self.crowd.hear(tick),
        }
    }

    fn looked(&mut self, batch: &Batch, looks: &Result<Vec<Look>, LineError>) {
        for (at, (key, _)) in batch.iter().enumerate() {
            match looks {
                Ok(looks) => self.crowd.looked(*key, looks[at]),
                Err(LineError::Unavailable(_)) => {
                    self.is_in_doubt = true;
                    self.crowd.question(*key);
                }
                Err(_) => self.crowd.tell(*key, Word::Look),
            }
        }
    }

    /// There is no view.
    fn lose(&mut self, absence: &Absence) {
        self.crowd.tell_all(|| match absence {
            // A look would wait for the line once more.
            Absence::LineAway(cause) => Word::LineAway(cause.clone()),
            // Where nothing is to be seen, the look says why.
            _ => Word::Look,
        });
    }
}
