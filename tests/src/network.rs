//! A network between a client and a server that can be cut, stalled or slow, and can lead to another server.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

use std::{future::pending, io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::AbortHandle,
    time::sleep,
};

/// The state of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkState {
    /// Data passes without delay.
    Open,
    /// Connections are reset, and new ones are reset as soon as they are accepted.
    Cut,
    /// All connections are reset when the server next answers on one of them, and the answer is lost. Then the network is
    /// open.
    CutAtAnswer,
    /// Connections are accepted, and no data passes.
    Stalled,
    /// All data is late by this time in each direction.
    Slow(Duration),
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    condition: NetworkState,
    server: SocketAddr,
    /// Connections of an earlier generation are reset.
    generation: u64,
}

/// A network. It is cut when dropped.
#[derive(Debug)]
pub struct Network {
    /// The address for clients.
    pub address: SocketAddr,
    settings: Arc<watch::Sender<Settings>>,
    accept_task: AbortHandle,
}

impl Network {
    /// Opens a network in front of a server.
    pub async fn open_before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("the listener has an address");
        let settings = Arc::new(watch::Sender::new(Settings {
            condition: NetworkState::Open,
            server,
            generation: 0,
        }));
        let shared = Arc::clone(&settings);
        let accept_task = tokio::spawn(async move {
            loop {
                if let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(serve_connection(client, Arc::clone(&shared)));
                }
            }
        });
        Self {
            address,
            settings,
            accept_task: accept_task.abort_handle(),
        }
    }

    /// Sets the state of the network.
    pub fn set_state(&self, condition: NetworkState) {
        self.settings
            .send_modify(|settings| settings.condition = condition);
    }

    /// Connects new connections to another server. Open connections stay where they are, as after a change
    /// of the address that a name resolves to.
    pub fn connect_new_to(&self, server: SocketAddr) {
        self.settings.send_modify(|settings| settings.server = server);
    }

    /// Resets all connections with the data on them, and connects new ones to another server.
    pub fn connect_to(&self, server: SocketAddr) {
        self.settings.send_modify(|settings| {
            settings.server = server;
            settings.generation += 1;
        });
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

async fn serve_connection(client: TcpStream, shared: Arc<watch::Sender<Settings>>) {
    let settings = shared.subscribe();
    let Settings {
        condition,
        server,
        generation,
    } = *settings.borrow();
    if condition == NetworkState::Cut {
        return reset(&client);
    }
    let Ok(server) = TcpStream::connect(server).await else {
        return reset(&client);
    };
    // The reset is sent when the last half of the stream is dropped.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let mut cut = settings.clone();
    let is_reset =
        |settings: &Settings| settings.condition == NetworkState::Cut || settings.generation != generation;
    {
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let there = copy_direction(&mut from_client, &mut to_server, settings.clone(), || false);
        let back = copy_direction(&mut from_server, &mut to_client, settings, || {
            cut_at_answer(&shared)
        });
        tokio::select! {
            _ = async { tokio::join!(there, back) } => {}
            _ = cut.wait_for(is_reset) => {
                let _ = (
                    to_client.as_ref().set_zero_linger(),
                    to_server.as_ref().set_zero_linger(),
                );
            }
        }
    }
}

fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

/// Whether the network is to be cut at this answer. Resets all connections then, and opens the network for others.
fn cut_at_answer(shared: &watch::Sender<Settings>) -> bool {
    shared.send_if_modified(|settings| {
        let cuts = settings.condition == NetworkState::CutAtAnswer;
        if cuts {
            settings.condition = NetworkState::Open;
            settings.generation += 1;
        }
        cuts
    })
}

/// Copies one direction until it ends, or until data is read while `cuts`.
async fn copy_direction(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    mut settings: watch::Receiver<Settings>,
    cuts: impl Fn() -> bool,
) -> io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut bytes).await?;
        let moving = settings
            .wait_for(|settings| settings.condition != NetworkState::Stalled)
            .await;
        let condition = moving.map_or(NetworkState::Cut, |settings| settings.condition);
        if let NetworkState::Slow(delay) = condition {
            sleep(delay).await;
        }
        if cuts() {
            return pending().await;
        }
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&bytes[..count]).await?;
    }
}
