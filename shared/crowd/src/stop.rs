//! The signal that ends a crowd before its visitors are done.

use tokio::sync::watch;

/// Why a crowd ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The operator interrupted it.
    Interrupted,
    /// Its time was over.
    OutOfTime,
}

/// Ends a crowd.
#[derive(Debug)]
pub struct Stopper(watch::Sender<Option<StopReason>>);

/// Learns when a crowd ends.
#[derive(Debug, Clone)]
pub struct StopSignal(watch::Receiver<Option<StopReason>>);

impl Stopper {
    /// A stopper with its signal.
    pub fn new() -> (Self, StopSignal) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), StopSignal(receiver))
    }

    /// Ends the crowd. The first reason counts.
    pub fn stop(&self, reason: StopReason) {
        self.0.send_if_modified(|stored| {
            let is_first = stored.is_none();
            stored.get_or_insert(reason);
            is_first
        });
    }
}

impl StopSignal {
    /// A signal that never comes.
    pub fn never() -> Self {
        Stopper::new().1
    }

    /// Why the crowd has ended early, if it has.
    pub fn reason(&self) -> Option<StopReason> {
        *self.0.borrow()
    }

    /// Waits until the crowd is to end.
    pub async fn wait(&mut self) {
        // Without a sender there is no stop any more.
        if self.0.wait_for(Option::is_some).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
