//! The signal that ends a rehearsal before its visitors are done.

use tokio::sync::watch;

/// Why a rehearsal ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The operator interrupted it.
    Interrupted,
    /// Its time was over.
    OutOfTime,
}

/// Ends a rehearsal.
#[derive(Debug)]
pub(crate) struct Stopper(watch::Sender<Option<StopReason>>);

/// Learns when a rehearsal ends.
#[derive(Debug, Clone)]
pub(crate) struct StopSignal(watch::Receiver<Option<StopReason>>);

impl Stopper {
    /// A stopper with its signal.
    pub(crate) fn new() -> (Self, StopSignal) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), StopSignal(receiver))
    }

    /// Ends the rehearsal. The first reason counts.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.0.send_if_modified(|stored| {
            let is_first = stored.is_none();
            stored.get_or_insert(reason);
            is_first
        });
    }
}

impl StopSignal {
    /// Why the rehearsal has ended early, if it has.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        *self.0.borrow()
    }

    /// Waits until the rehearsal is to end.
    pub(crate) async fn wait(&mut self) {
        // Without a sender there is no stop any more.
        if self.0.wait_for(Option::is_some).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
