//! The stop signal. The first one stops the process in order, and the second one at once.

use std::future::Future;

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// The exit status of a process that Ctrl-C ended, as shells report it.
const INTERRUPTED: i32 = 130;

/// Tells the parts of the process when it stops.
#[derive(Debug, Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens for Ctrl-C and SIGTERM. The first one stops the process in order, and the second one ends it at once.
    pub(crate) fn on_signals() -> std::io::Result<Self> {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            let mut next = async || tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} };
            next().await;
            let _ = sender.send(true);
            next().await;
            std::process::exit(INTERRUPTED);
        });
        Ok(Self(receiver))
    }

    /// A channel that becomes `true` when the process stops.
    pub(crate) fn receiver(&self) -> watch::Receiver<bool> {
        self.0.clone()
    }

    /// Waits until the process stops.
    pub(crate) fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut receiver = self.0.clone();
        async move {
            // If the sender is gone, no signal can arrive any more. This counts as a stop.
            let _ = receiver.wait_for(|stop| *stop).await;
        }
    }
}
