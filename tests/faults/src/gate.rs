//! A gate at which calls wait until a test opens it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::watch;

/// A gate, open at first. All clones are one gate.
#[derive(Clone, Default)]
pub struct Gate {
    is_shut: watch::Sender<bool>,
    arrivals: Arc<AtomicU64>,
}

impl Gate {
    /// Shuts the gate. Calls that arrive from now on wait.
    pub fn shut(&self) {
        self.is_shut.send_replace(true);
    }

    /// Opens the gate for the calls that wait, and for all later ones.
    pub fn open(&self) {
        self.is_shut.send_replace(false);
    }

    /// How many calls have arrived at the gate so far, whether they passed or still wait.
    pub fn arrivals(&self) -> u64 {
        self.arrivals.load(Ordering::SeqCst)
    }

    pub(crate) async fn pass(&self) {
        let mut is_shut = self.is_shut.subscribe();
        self.arrivals.fetch_add(1, Ordering::SeqCst);
        is_shut
            .wait_for(|is_shut| !is_shut)
            .await
            .expect("this gate owns the sender, so it is not dropped");
    }
}
