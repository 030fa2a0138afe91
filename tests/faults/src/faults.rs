//! What goes wrong, and what was called.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::sleep;
use vestibule_domain::id::{EntryId, QueueId};
use vestibule_line::QueueView;

use crate::Gate;

/// Why an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server does not answer.
    Unavailable,
    /// The server has more to do than it can.
    Throttled,
    /// The server rejects the request, or holds what cannot be read.
    Rejected,
}

/// A fault that strikes some calls, whatever they do. It is drawn for each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomFault {
    /// What happens to the calls that it strikes.
    pub effect: Effect,
    /// How many of a hundred calls it strikes.
    pub percent: u32,
}

/// What a [`RandomFault`] does to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It fails, and nothing is done.
    Fails(Fault),
    /// It takes a random time in this range longer, in milliseconds.
    Stalls(u64, u64),
    /// It is carried out, and the caller learns of a failure.
    LosesAnswer,
}

/// The faults of one line or backup. All clones are one set of faults, which a test may change at any time.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Every operation fails with this fault.
    all: Option<Fault>,
    random: Option<RandomFault>,
    operations: HashMap<&'static str, Operation>,
    /// Writes of these entries are rejected.
    rejected_entries: Vec<EntryId>,
    /// Every write is rejected.
    rejects_writes: bool,
    /// How many more writes succeed before each is throttled; `None` for no limit.
    writes_left: Option<usize>,
    /// How often a write of each entry was decided, by storing or by rejecting it.
    decided_writes: HashMap<EntryId, usize>,
    /// What the line shows as the state of the queue, whatever it is.
    frozen_view: Option<QueueView>,
    refuses_fallback_ticks: bool,
    /// Batches of changes are answered without being stored.
    discards_changes: bool,
    /// How many calls failed because of [`Faults::fail_all`].
    failed_calls: u64,
}

/// The faults of one operation.
#[derive(Default)]
struct Operation {
    fault: Option<Fault>,
    fails_once: bool,
    delay: Duration,
    /// Faults and delays of one queue only.
    queue_faults: HashMap<String, Fault>,
    queue_delays: HashMap<String, Duration>,
    gate_before: Gate,
    gate_after: Gate,
    calls: u64,
    queue_calls: HashMap<String, u64>,
    running: u64,
    running_max: u64,
}

impl Faults {
    /// Every operation fails from now on.
    pub fn fail_all(&self, fault: Fault) {
        self.state().all = Some(fault);
    }

    /// Ends [`fail_all`](Self::fail_all).
    pub fn heal_all(&self) {
        self.state().all = None;
    }

    /// This fault strikes some of the calls from now on. `None` ends that.
    pub fn strike_at_random(&self, fault: Option<RandomFault>) {
        self.state().random = fault;
    }

    /// How many calls [`fail_all`](Self::fail_all) has made fail.
    pub fn failed_calls(&self) -> u64 {
        self.state().failed_calls
    }

    /// One operation fails from now on.
    pub fn fail(&self, operation: &'static str, fault: Fault) {
        self.operation(operation, |operation| operation.fault = Some(fault));
    }

    /// One operation succeeds again.
    pub fn heal(&self, operation: &'static str) {
        self.operation(operation, |operation| operation.fault = None);
    }

    /// The next call of an operation fails.
    pub fn fail_once(&self, operation: &'static str) {
        self.operation(operation, |operation| operation.fails_once = true);
    }

    /// One operation on one queue fails from now on.
    pub fn fail_for_queue(&self, operation: &'static str, queue: &str, fault: Fault) {
        self.operation(operation, |operation| {
            operation.queue_faults.insert(queue.to_owned(), fault)
        });
    }

    /// One operation takes this much longer from now on.
    pub fn delay(&self, operation: &'static str, delay: Duration) {
        self.operation(operation, |operation| operation.delay = delay);
    }

    /// One operation on one queue takes this much longer from now on.
    pub fn delay_for_queue(&self, operation: &'static str, queue: &str, delay: Duration) {
        self.operation(operation, |operation| {
            operation.queue_delays.insert(queue.to_owned(), delay)
        });
    }

    /// The gate before an operation reaches the real line or backup.
    pub fn gate_before(&self, operation: &'static str) -> Gate {
        self.operation(operation, |operation| operation.gate_before.clone())
    }

    /// The gate between the answer of the real line or backup and the caller.
    pub fn gate_after(&self, operation: &'static str) -> Gate {
        self.operation(operation, |operation| operation.gate_after.clone())
    }

    /// How often an operation was called.
    pub fn calls(&self, operation: &'static str) -> u64 {
        self.operation(operation, |operation| operation.calls)
    }

    /// How many calls of an operation have ended.
    pub fn finished_calls(&self, operation: &'static str) -> u64 {
        self.operation(operation, |operation| operation.calls - operation.running)
    }

    /// How often an operation was called for one queue.
    pub fn calls_for_queue(&self, operation: &'static str, queue: &str) -> u64 {
        self.operation(operation, |operation| {
            operation.queue_calls.get(queue).copied().unwrap_or_default()
        })
    }

    /// The highest number of calls of an operation that ran at the same time.
    pub fn running_max(&self, operation: &'static str) -> u64 {
        self.operation(operation, |operation| operation.running_max)
    }

    /// The line shows this view of the queue from now on.
    pub fn freeze_view(&self, view: QueueView) {
        self.state().frozen_view = Some(view);
    }

    /// The line grants no fallback tick from now on, as if another process had each of them.
    pub fn refuse_fallback_ticks(&self) {
        self.state().refuses_fallback_ticks = true;
    }

    /// Ends [`refuse_fallback_ticks`](Self::refuse_fallback_ticks).
    pub fn grant_fallback_ticks(&self) {
        self.state().refuses_fallback_ticks = false;
    }

    /// The backup answers batches of changes from now on as if it had them already, and stores none. A test that pauses
    /// time needs this: a real backup writes in a thread of its own, which paused time does not wait for.
    pub fn discard_changes(&self) {
        self.state().discards_changes = true;
    }

    /// Writes of these entries are rejected from now on, and no others.
    pub fn reject_entries(&self, entries: &[EntryId]) {
        self.state().rejected_entries = entries.to_vec();
    }

    /// Every write of an entry is rejected from now on, or no longer, although the backup answers.
    pub fn reject_writes(&self, rejects: bool) {
        self.state().rejects_writes = rejects;
    }

    /// After this many more writes, each write is throttled. `None` ends that.
    pub fn throttle_after(&self, writes: Option<usize>) {
        self.state().writes_left = writes;
    }

    /// How often a write of an entry was stored or rejected.
    pub fn decided_writes(&self, entry: EntryId) -> usize {
        self.state()
            .decided_writes
            .get(&entry)
            .copied()
            .unwrap_or_default()
    }

    pub(crate) fn frozen_view(&self) -> Option<QueueView> {
        self.state().frozen_view.clone()
    }

    pub(crate) fn discards_changes(&self) -> bool {
        self.state().discards_changes
    }

    pub(crate) fn refuses_fallback_ticks(&self) -> bool {
        self.state().refuses_fallback_ticks
    }

    /// Does what happens before the real operation. Fails if the operation fails instead.
    pub(crate) async fn begin(&self, name: &'static str, queue: Option<&QueueId>) -> Result<Call, Fault> {
        let queue = queue.map(ToString::to_string);
        let (gate, delay) = self.operation(name, |operation| {
            operation.calls += 1;
            operation.running += 1;
            operation.running_max = operation.running_max.max(operation.running);
            let of_queue = queue.as_ref().map(|queue| {
                *operation.queue_calls.entry(queue.clone()).or_default() += 1;
                operation.queue_delays.get(queue).copied().unwrap_or_default()
            });
            (
                operation.gate_before.clone(),
                operation.delay + of_queue.unwrap_or_default(),
            )
        });
        // From here on the call counts as running until it is dropped.
        let mut call = Call {
            faults: self.clone(),
            name,
            loses_answer: false,
        };
        gate.pass().await;
        if !delay.is_zero() {
            sleep(delay).await;
        }
        match self.draw_effect() {
            Some(Effect::Fails(fault)) => return Err(fault),
            Some(Effect::Stalls(least_ms, most_ms)) => {
                sleep(Duration::from_millis(rand::random_range(least_ms..=most_ms))).await;
            }
            Some(Effect::LosesAnswer) => call.loses_answer = true,
            None => {}
        }
        let fault = self.operation(name, |operation| {
            if std::mem::take(&mut operation.fails_once) {
                return Some(Fault::Unavailable);
            }
            let of_queue = queue.as_ref().and_then(|queue| operation.queue_faults.get(queue));
            of_queue.copied().or(operation.fault)
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        let mut state = self.state();
        match state.all {
            Some(fault) => {
                state.failed_calls += 1;
                Err(fault)
            }
            None => Ok(call),
        }
    }

    /// Decides whether a write of an entry succeeds.
    pub(crate) fn decide_write(&self, entry: EntryId) -> Result<(), Fault> {
        let mut state = self.state();
        match &mut state.writes_left {
            Some(0) => return Err(Fault::Throttled),
            Some(left) => *left -= 1,
            None => {}
        }
        *state.decided_writes.entry(entry).or_default() += 1;
        if state.rejects_writes || state.rejected_entries.contains(&entry) {
            return Err(Fault::Rejected);
        }
        Ok(())
    }

    fn draw_effect(&self) -> Option<Effect> {
        let struck = self.state().random;
        let struck = struck.filter(|fault| rand::random_range(0..100) < fault.percent);
        struck.map(|fault| fault.effect)
    }

    fn operation<T>(&self, name: &'static str, change: impl FnOnce(&mut Operation) -> T) -> T {
        change(self.state().operations.entry(name).or_default())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is running.
pub(crate) struct Call {
    faults: Faults,
    name: &'static str,
    loses_answer: bool,
}

impl Call {
    /// Waits at the gate after the operation. Fails if the answer is lost.
    pub(crate) async fn end(self) -> Result<(), Fault> {
        let gate = self.faults.gate_after(self.name);
        gate.pass().await;
        if self.loses_answer {
            return Err(Fault::Unavailable);
        }
        Ok(())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.faults
            .operation(self.name, |operation| operation.running -= 1);
    }
}
