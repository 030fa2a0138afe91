//! The end: asked for once it is orderly, asked for twice it is at once.

use std::future::Future;

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// What a shell says of a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Tells everybody when the end has come.
#[derive(Debug, Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Comes with the first Ctrl-C or SIGTERM; the second ends the process where it stands.
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

    /// Becomes `true` with it.
    pub(crate) fn receiver(&self) -> watch::Receiver<bool> {
        self.0.clone()
    }

    /// Waits for it.
    pub(crate) fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut receiver = self.0.clone();
        async move {
            // A sender that is gone cannot ask for the end any more: the same as being asked.
            let _ = receiver.wait_for(|stop| *stop).await;
        }
    }
}
