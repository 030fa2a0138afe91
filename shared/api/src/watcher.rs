//! Watches a queue for all polls that are held on it. Each process has one watcher per queue, from the
//! first held poll to the last.

mod watching;

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{
    mpsc::{UnboundedSender, unbounded_channel},
    oneshot,
};
use vestibule_domain::id::QueueId;

use super::{
    Edge, budget,
    crowd::{Key, Waiter, Word},
};

/// The watchers of one process.
#[derive(Default)]
pub(super) struct Watchers(Mutex<Watched>);

#[derive(Default)]
struct Watched {
    queues: HashMap<QueueId, Watcher>,
    /// How many polls were ever held, which numbers them.
    count: u64,
}

struct Watcher {
    orders: UnboundedSender<Order>,
    held: usize,
}

enum Order {
    Hold(Key, Waiter, budget::Held, oneshot::Sender<Word>),
    /// The hold has ended, and the poll looks up the status itself.
    End(Key),
    /// The request of this poll is gone.
    Release(Key),
}

impl Watchers {
    /// Has the queue watched for one more poll, until the returned value is dropped.
    pub(super) fn watch<'a>(&'a self, edge: &Arc<Edge>, waiter: &Waiter, counted: budget::Held) -> Watch<'a> {
        let (tell, word) = oneshot::channel();
        let queue = &waiter.seen.queue;
        let mut watched = self.watched();
        watched.count += 1;
        let key = (waiter.score, watched.count);
        let watcher = watched.queues.entry(queue.clone()).or_insert_with(|| {
            let (order, orders) = unbounded_channel();
            tokio::spawn(watching::run(edge.clone(), waiter.seen.clone(), orders));
            Watcher {
                orders: order,
                held: 0,
            }
        });
        watcher.held += 1;
        // If the watcher has stopped, the closed channel tells the poll.
        let _ = watcher
            .orders
            .send(Order::Hold(key, waiter.clone(), counted, tell));
        Watch {
            watchers: self,
            queue: queue.clone(),
            key,
            word,
            is_told: false,
        }
    }

    /// How many queues are watched.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.watched().queues.len()
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        // No code panics while it holds this lock, so the map in a poisoned lock is still intact.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A poll for which a queue is watched.
pub(super) struct Watch<'a> {
    watchers: &'a Watchers,
    queue: QueueId,
    key: Key,
    word: oneshot::Receiver<Word>,
    is_told: bool,
}

impl Watch<'_> {
    /// Waits for the wake-up of this poll. It must not be called again after that.
    pub(super) async fn word(&mut self) -> Word {
        // A watcher that stopped has dropped the poll, which releases it.
        let word = (&mut self.word).await.unwrap_or(Word::Look(None));
        self.is_told = true;
        word
    }

    /// Ends the hold now. If the watcher is already answering the poll, this returns that answer.
    pub(super) async fn end(&mut self) -> Word {
        self.order(Order::End(self.key));
        self.word().await
    }

    fn order(&self, order: Order) {
        if let Some(watcher) = self.watchers.watched().queues.get(&self.queue) {
            let _ = watcher.orders.send(order);
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.is_told {
            self.order(Order::Release(self.key));
        }
        if let Entry::Occupied(mut watcher) = self.watchers.watched().queues.entry(self.queue.clone()) {
            watcher.get_mut().held -= 1;
            if watcher.get().held == 0 {
                // This also closes the channel of the watcher, which then stops.
                watcher.remove();
            }
        }
    }
}
