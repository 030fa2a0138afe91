//! The stop signal. The first one stops the process in order, and the second one at once.

use std::future::Future;

use tokio::sync::watch;
use vestibule_telemetry::stop_signals::StopSignals;

/// The exit status of a process that Ctrl-C ended, as shells report it.
const INTERRUPTED: i32 = 130;

/// Tells the parts of the process when it stops.
#[derive(Debug, Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens for [`StopSignals`]. The first one stops the process in order, and the second one ends it at once.
    pub(crate) fn on_signals() -> std::io::Result<Self> {
        let mut signals = StopSignals::listen()?;
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            signals.next().await;
            let _ = sender.send(true);
            signals.next().await;
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
