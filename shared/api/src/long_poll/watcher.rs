//! Watches a queue for all polls that are held on it. Each process has one watcher per queue, from the
//! first held poll to the last.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{
    mpsc::{UnboundedSender, unbounded_channel},
    oneshot,
};
use vestibule_domain::id::QueueId;

use super::{
    budget,
    held_polls::{HeldPoll, HeldPollKey, Wakeup},
    watch_loop::{self, WatchContext, WatcherCommand},
};

/// The watchers of one process.
pub(super) struct Watchers {
    context: WatchContext,
    registry: Mutex<WatcherRegistry>,
}

#[derive(Default)]
struct WatcherRegistry {
    queues: HashMap<QueueId, Watcher>,
    /// How many polls were ever held, which numbers them.
    polls_held_total: u64,
}

struct Watcher {
    commands: UnboundedSender<WatcherCommand>,
    held: usize,
}

impl Watchers {
    pub(super) fn new(context: WatchContext) -> Self {
        Self {
            context,
            registry: Mutex::default(),
        }
    }

    /// Has the queue watched for one more poll, until the returned value is dropped.
    pub(super) fn watch<'a>(&'a self, poll: &HeldPoll, permit: budget::HoldPermit) -> WatchHandle<'a> {
        let (reply, wakeup) = oneshot::channel();
        let queue = &poll.snapshot.queue;
        let mut registry = self.lock_registry();
        registry.polls_held_total += 1;
        let key = (poll.score, registry.polls_held_total);
        let watcher = registry.queues.entry(queue.clone()).or_insert_with(|| {
            let (sender, commands) = unbounded_channel();
            tokio::spawn(watch_loop::run(
                self.context.clone(),
                poll.snapshot.clone(),
                commands,
            ));
            Watcher {
                commands: sender,
                held: 0,
            }
        });
        watcher.held += 1;
        // If the watcher has stopped, the closed channel tells the poll.
        let _ = watcher
            .commands
            .send(WatcherCommand::Hold(key, poll.clone(), permit, reply));
        WatchHandle {
            watchers: self,
            queue: queue.clone(),
            key,
            wakeup,
            has_woken: false,
        }
    }

    /// How many queues are watched.
    #[cfg(test)]
    pub(super) fn watched_queues(&self) -> usize {
        self.lock_registry().queues.len()
    }

    fn lock_registry(&self) -> MutexGuard<'_, WatcherRegistry> {
        // No code panics while it holds this lock, so the map in a poisoned lock is still intact.
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A poll for which a queue is watched.
pub(super) struct WatchHandle<'a> {
    watchers: &'a Watchers,
    queue: QueueId,
    key: HeldPollKey,
    wakeup: oneshot::Receiver<Wakeup>,
    has_woken: bool,
}

impl WatchHandle<'_> {
    /// Waits for the wake-up of this poll. It must not be called again after that.
    pub(super) async fn wait_for_wakeup(&mut self) -> Wakeup {
        // A watcher that stopped has dropped the poll, which releases it.
        let wakeup = (&mut self.wakeup).await.unwrap_or(Wakeup::LookUp(None));
        self.has_woken = true;
        wakeup
    }

    /// Ends the hold now. If the watcher is already answering the poll, this returns that answer.
    pub(super) async fn end_hold(&mut self) -> Wakeup {
        self.send_command(WatcherCommand::End(self.key));
        self.wait_for_wakeup().await
    }

    fn send_command(&self, command: WatcherCommand) {
        if let Some(watcher) = self.watchers.lock_registry().queues.get(&self.queue) {
            let _ = watcher.commands.send(command);
        }
    }
}

impl Drop for WatchHandle<'_> {
    fn drop(&mut self) {
        if !self.has_woken {
            self.send_command(WatcherCommand::Release(self.key));
        }
        if let Entry::Occupied(mut watcher) = self.watchers.lock_registry().queues.entry(self.queue.clone()) {
            watcher.get_mut().held -= 1;
            if watcher.get().held == 0 {
                // This also closes the channel of the watcher, which then stops.
                watcher.remove();
            }
        }
    }
}
