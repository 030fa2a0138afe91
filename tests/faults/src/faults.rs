//! What goes wrong and when, and what was called.

mod call;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::Value;
use vestibule_domain::id::EntryId;

use crate::{
    fault::{Fault, RandomFault},
    gate::Gate,
};

/// The script that grants fallback ticks.
const FALLBACK_TICK: &str = "take_fallback_tick";

/// The faults of one line or backup. All clones are one set of faults, which a test may change at any time.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Every operation fails with this fault.
    all: Option<Fault>,
    random: Option<RandomFault>,
    operations: HashMap<String, Operation>,
    /// Writes of these entries are rejected.
    rejected_entries: Vec<EntryId>,
    /// Every write is rejected.
    rejects_writes: bool,
    /// How many more writes succeed before each is throttled; `None` for no limit.
    writes_left: Option<usize>,
    /// How often a write of each entry was decided, by storing or by rejecting it.
    decided_writes: HashMap<EntryId, usize>,
    /// What the line answers to scripts of these names; `None` until the next real answer, which is kept.
    given_answers: HashMap<String, Option<Value>>,
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
    pub fn fail(&self, operation: &str, fault: Fault) {
        self.operation(operation, |operation| operation.fault = Some(fault));
    }

    /// One operation succeeds again.
    pub fn heal(&self, operation: &str) {
        self.operation(operation, |operation| operation.fault = None);
    }

    /// The next call of an operation fails.
    pub fn fail_once(&self, operation: &str) {
        self.operation(operation, |operation| operation.fails_once = true);
    }

    /// One operation on one queue fails from now on.
    pub fn fail_for_queue(&self, operation: &str, queue: &str, fault: Fault) {
        self.operation(operation, |operation| {
            operation.queue_faults.insert(queue.to_owned(), fault)
        });
    }

    /// One operation takes this much longer from now on.
    pub fn delay(&self, operation: &str, delay: Duration) {
        self.operation(operation, |operation| operation.delay = delay);
    }

    /// One operation on one queue takes this much longer from now on.
    pub fn delay_for_queue(&self, operation: &str, queue: &str, delay: Duration) {
        self.operation(operation, |operation| {
            operation.queue_delays.insert(queue.to_owned(), delay)
        });
    }

    /// The gate before an operation reaches the real line or backup.
    pub fn gate_before(&self, operation: &str) -> Gate {
        self.operation(operation, |operation| operation.gate_before.clone())
    }

    /// The gate between the answer of the real line or backup and the caller.
    pub fn gate_after(&self, operation: &str) -> Gate {
        self.operation(operation, |operation| operation.gate_after.clone())
    }

    /// How often an operation was called.
    pub fn calls(&self, operation: &str) -> u64 {
        self.operation(operation, |operation| operation.calls)
    }

    /// How often each operation was called.
    pub fn all_calls(&self) -> BTreeMap<String, u64> {
        let state = self.state();
        let operations = state
            .operations
            .iter()
            .filter(|(_, operation)| operation.calls > 0);
        operations
            .map(|(name, operation)| (name.clone(), operation.calls))
            .collect()
    }

    /// How many calls of an operation have ended.
    pub fn finished_calls(&self, operation: &str) -> u64 {
        self.operation(operation, |operation| operation.calls - operation.running)
    }

    /// How often an operation was called for one queue.
    pub fn calls_for_queue(&self, operation: &str, queue: &str) -> u64 {
        self.operation(operation, |operation| {
            operation.queue_calls.get(queue).copied().unwrap_or_default()
        })
    }

    /// The highest number of calls of an operation that ran at the same time.
    pub fn running_max(&self, operation: &str) -> u64 {
        self.operation(operation, |operation| operation.running_max)
    }

    /// The next answer of a script of the line is its answer to all later calls, whatever happens to the queue.
    pub fn freeze(&self, script: &str) {
        self.state().given_answers.insert(script.to_owned(), None);
    }

    /// The line grants no fallback tick from now on, as if another process had each of them.
    pub fn refuse_fallback_ticks(&self) {
        let refusal = Value::Array(vec![Value::BulkString(b"early".to_vec())]);
        let mut state = self.state();
        state
            .given_answers
            .insert(FALLBACK_TICK.to_owned(), Some(refusal));
    }

    /// Ends [`refuse_fallback_ticks`](Self::refuse_fallback_ticks).
    pub fn grant_fallback_ticks(&self) {
        self.state().given_answers.remove(FALLBACK_TICK);
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

    pub(crate) fn given_answer(&self, script: &str) -> Option<Value> {
        self.state().given_answers.get(script).cloned().flatten()
    }

    /// Keeps an answer, if it is the first after [`freeze`](Self::freeze).
    pub(crate) fn keep_frozen(&self, script: &str, answer: &Value) {
        if let Some(frozen) = self.state().given_answers.get_mut(script) {
            frozen.get_or_insert_with(|| answer.clone());
        }
    }

    pub(crate) fn discards_changes(&self) -> bool {
        self.state().discards_changes
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

    fn operation<T>(&self, name: &str, change: impl FnOnce(&mut Operation) -> T) -> T {
        change(self.state().operations.entry(name.to_owned()).or_default())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
