//! A line that can be out of reach, say nothing new, or be slow to say it, and keeps all that it has meanwhile.

mod line;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::watch;
use vestibule_line::{Line, QueueView};

use self::line::Switched;

/// What happens to a line, as a test has it.
#[derive(Clone, Default)]
pub struct Switch {
    is_off: Arc<AtomicBool>,
    counts_no_holds: Arc<AtomicBool>,
    holds_take_ms: Arc<AtomicU64>,
    releases_take_ms: Arc<AtomicU64>,
    is_deaf: Arc<AtomicBool>,
    is_stumbling: Arc<AtomicBool>,
    tries: Arc<AtomicU64>,
    /// What every view shows, from when it was frozen.
    frozen: Arc<Mutex<Option<QueueView>>>,
    /// Who looks at one entry hears of it once this is open.
    pub looking: Gate,
    /// Who listens does so once this is open.
    pub listening: Gate,
    /// How often many were looked at together.
    pub looks: Arc<AtomicU64>,
    /// How often held polls were counted out.
    pub releases: Arc<AtomicU64>,
    calls_drive: Arc<AtomicBool>,
    offers: Arc<AtomicU64>,
}

/// Open, unless it is shut.
#[derive(Clone, Default)]
pub struct Gate {
    is_shut: watch::Sender<bool>,
    passes: Arc<AtomicU64>,
}

impl Gate {
    /// From now on nobody goes through.
    pub fn shut(&self) {
        self.is_shut.send_replace(true);
    }

    /// From now on everybody does, also those who stand there.
    pub fn open(&self) {
        self.is_shut.send_replace(false);
    }

    /// How many have come here.
    pub fn passes(&self) -> u64 {
        self.passes.load(Ordering::SeqCst)
    }

    async fn pass(&self) {
        let mut is_shut = self.is_shut.subscribe();
        self.passes.fetch_add(1, Ordering::SeqCst);
        is_shut
            .wait_for(|is_shut| !is_shut)
            .await
            .expect("the sender lives here");
    }
}

impl Switch {
    /// From now on nobody reaches the line.
    pub fn turn_off(&self) {
        self.is_off.store(true, Ordering::SeqCst);
    }

    /// From now on everybody does.
    pub fn turn_on(&self) {
        self.is_off.store(false, Ordering::SeqCst);
    }

    /// From now on whoever counts held polls does not reach it.
    pub fn count_no_holds(&self) {
        self.counts_no_holds.store(true, Ordering::SeqCst);
    }

    /// From now on it takes its time to count a held poll.
    pub fn slow_holds(&self, time: Duration) {
        self.holds_take_ms.store(millis(time), Ordering::SeqCst);
    }

    /// From now on it takes its time to count polls out.
    pub fn slow_releases(&self, time: Duration) {
        self.releases_take_ms.store(millis(time), Ordering::SeqCst);
    }

    /// From now on nobody can listen to it.
    pub fn deafen(&self) {
        self.is_deaf.store(true, Ordering::SeqCst);
    }

    /// The next time that many are looked at together, there is no answer.
    pub fn stumble(&self) {
        self.is_stumbling.store(true, Ordering::SeqCst);
    }

    /// From now on every view is this one.
    pub fn freeze(&self, view: QueueView) {
        *self.frozen() = Some(view);
    }

    /// From now on calls drive the line where no promoter does: until then the test is the promoter.
    pub fn let_calls_drive(&self) {
        self.calls_drive.store(true, Ordering::SeqCst);
    }

    /// How often somebody who called has offered to drive since then.
    pub fn offers(&self) -> u64 {
        self.offers.load(Ordering::SeqCst)
    }

    /// How often somebody tried in vain.
    pub fn tries(&self) -> u64 {
        self.tries.load(Ordering::SeqCst)
    }

    /// The line behind this switch.
    pub fn before(&self, line: Arc<dyn Line>) -> Arc<dyn Line> {
        Arc::new(Switched {
            line,
            switch: self.clone(),
        })
    }

    fn frozen(&self) -> MutexGuard<'_, Option<QueueView>> {
        self.frozen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
