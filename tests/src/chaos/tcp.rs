//! A network between a client and a server that can be cut, stand still or be slow.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::AbortHandle,
    time::sleep,
};

/// How the network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// As it should be.
    Open,
    /// Connections are reset, and new ones as soon as they are made.
    Cut,
    /// Connections are taken, and nothing moves on them.
    Stalled,
    /// Everything is so late, in each direction.
    Slow(Duration),
}

#[derive(Debug, Clone, Copy)]
struct State {
    flow: Flow,
    server: SocketAddr,
    /// Connections of an earlier one are reset.
    era: u64,
}

/// A network; it is cut for good when dropped.
#[derive(Debug)]
pub(super) struct Network {
    /// Where clients connect.
    pub(super) address: SocketAddr,
    state: watch::Sender<State>,
    listening: AbortHandle,
}

impl Network {
    /// A network in front of a server.
    pub(super) async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (state, seen) = watch::channel(State {
            flow: Flow::Open,
            server,
            era: 0,
        });
        let listening = tokio::spawn(async move {
            loop {
                if let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(carry(client, seen.clone()));
                }
            }
        });
        Self {
            address,
            state,
            listening: listening.abort_handle(),
        }
    }

    /// From now on it is like this.
    pub(super) fn set(&self, flow: Flow) {
        self.state.send_modify(|state| state.flow = flow);
    }

    /// Resets every connection, with what is on its way, and leads to another server.
    pub(super) fn lead_to(&self, server: SocketAddr) {
        self.state.send_modify(|state| {
            state.server = server;
            state.era += 1;
        });
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn carry(client: TcpStream, state: watch::Receiver<State>) {
    let State { flow, server, era } = *state.borrow();
    if flow == Flow::Cut {
        return reset(&client);
    }
    let Ok(server) = TcpStream::connect(server).await else {
        return reset(&client);
    };
    // A reset is sent when the last half is dropped.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let mut cut = state.clone();
    {
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let there = pump(&mut from_client, &mut to_server, state.clone());
        let back = pump(&mut from_server, &mut to_client, state);
        tokio::select! {
            _ = async { tokio::join!(there, back) } => {}
            _ = cut.wait_for(|state| state.flow == Flow::Cut || state.era != era) => {
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

/// Carries one direction until its end.
async fn pump(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    mut state: watch::Receiver<State>,
) -> io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut bytes).await?;
        let moving = state.wait_for(|state| state.flow != Flow::Stalled).await;
        let flow = moving.map_or(Flow::Cut, |state| state.flow);
        if let Flow::Slow(late) = flow {
            sleep(late).await;
        }
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&bytes[..count]).await?;
    }
}
