//! The link to one server. It is replaced if the server is silent, or if the server is *demoted*:
//! it carries out no writes, because it became a replica (`READONLY`), is a replica without its
//! primary (`MASTERDOWN`), or loads its data (`LOADING`).
//!
//! After a planned failover, the old primary stays up as a replica and keeps its connections open.
//! The address leads to the new primary, but only a new connection follows it. So a call that meets
//! a demoted server connects again through the address, and then sends its commands once more. That
//! is safe, because the demoted server carried out nothing, and because every call is idempotent.
//!
//! ```text
//!               a call or a test finds that the server is demoted
//! link in use ----------------------------------------------------> demoted link
//!      ^                                                            | every call fails until the pause ends,
//!      |    a new link passes the write test                        | then one call connects (single-flight)
//!      +------------------------------------------------------------+
//! ```
//!
//! A demoted server still answers reads, from data that may be stale. So one call per second and
//! process sends a write test beside its own commands. If the test finds that the server is
//! demoted, the answer of the call does not count. A background task would not do, because a frozen
//! Lambda runs none.

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use redis::{
    Client, FromRedisValue, RedisError, RedisResult,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use tokio::sync::{Mutex, watch};

use super::{
    address::{Address, with_resp3},
    call_link::CallLink,
    iam::IamLogin,
    line_error::{is_cut, is_demotion, to_line_error},
    link_test::{LinkHealth, LinkTest},
    request::Request,
    server_link::{ServerLink, build_manager_config},
    timeouts::Timeouts,
};
use crate::LineError;

/// The shortest time between two write tests beside calls, in milliseconds.
const WRITE_TEST_INTERVAL_MS: u64 = 1_000;
/// The longest pause between two connections of a process to a demoted server. A pause takes at
/// least half of it, and is random, so that the processes do not connect at the same moment.
const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(1);

pub(super) struct Server {
    client: Client,
    config: ConnectionManagerConfig,
    current: RwLock<ServerLink>,
    /// The earliest time of the next replacement of a demoted link; `None` before the first. A
    /// replacement locks it, so that one call connects and the others wait for it (single-flight).
    next_replacement_at: Arc<Mutex<Option<Instant>>>,
    /// Counts how often this process left a demoted server, and tells the subscription connections.
    departures: watch::Sender<u64>,
    opened_at: Instant,
    /// When a write test was last sent, in milliseconds since `opened_at`. 0 before the first.
    write_tested_at_ms: AtomicU64,
}

impl Server {
    /// Prepares a link, which opens with the first call.
    pub(super) fn new(
        address: &Address,
        login: Option<&IamLogin>,
        timeouts: &'static Timeouts,
    ) -> RedisResult<Self> {
        let client = address.server_client()?;
        let config = build_manager_config(login, timeouts);
        let manager = ConnectionManager::new_lazy_with_config(client.clone(), config.clone())?;
        Ok(Self {
            client,
            config,
            current: RwLock::new(ServerLink {
                manager,
                number: 0,
                is_demoted: false,
            }),
            next_replacement_at: Arc::default(),
            departures: watch::Sender::default(),
            opened_at: Instant::now(),
            write_tested_at_ms: AtomicU64::default(),
        })
    }

    /// Opens the link.
    pub(super) async fn open(&self) -> Result<(), LineError> {
        self.connect().await.map(drop)
    }

    /// Makes a client for the same server that can receive published messages.
    pub(super) fn subscriber_client(&self) -> RedisResult<Client> {
        with_resp3(&self.client)
    }

    /// Returns a receiver that changes when this process leaves a demoted server.
    pub(super) fn watch_departures(&self) -> watch::Receiver<u64> {
        self.departures.subscribe()
    }

    /// How often this process left a demoted server.
    pub(super) fn departures(&self) -> u64 {
        *self.departures.borrow()
    }

    /// Sends a request. If the server is demoted, or the connection was cut and the request may run twice, sends it once
    /// more on a new link.
    pub(super) async fn send<T: FromRedisValue>(
        self: &Arc<Self>,
        request: Request<'_>,
        is_suspect: bool,
    ) -> Result<T, LineError> {
        let link = self.acquire_link(is_suspect).await?;
        let mut answer = self.send_with_write_test(request, &link).await;
        if request.may_run_twice() && answer.as_ref().err().is_some_and(is_cut) {
            // The manager of the link has begun to connect again.
            answer = request.send(CallLink::Server(link.manager.clone())).await;
        }
        let Some(demotion) = answer.as_ref().err().filter(|error| is_demotion(error)) else {
            return answer.map_err(to_line_error);
        };
        self.mark_demoted(&link, demotion);
        let link = self.replace_demoted().await?;
        let answer = request.send(CallLink::Server(link.manager.clone())).await;
        if let Err(error) = &answer
            && is_demotion(error)
        {
            self.mark_demoted(&link, error);
        }
        answer.map_err(to_line_error)
    }

    /// The link to send on. A link that `is_suspect` is tested first, and replaced if it is dead.
    async fn acquire_link(self: &Arc<Self>, is_suspect: bool) -> Result<ServerLink, LineError> {
        let mut link = self.current_link();
        if link.is_demoted {
            return self.replace_demoted().await;
        }
        if !is_suspect {
            return Ok(link);
        }
        self.take_write_test();
        match LinkTest::Write.run(&mut link.manager).await {
            LinkHealth::Alive => Ok(link),
            LinkHealth::Dead => self.connect().await,
            LinkHealth::Demoted(error) => {
                self.mark_demoted(&link, &error);
                self.replace_demoted().await
            }
        }
    }

    /// Sends a request, and a write test beside it if the last one is a second old. Both share the
    /// round trip.
    async fn send_with_write_test<T: FromRedisValue>(
        &self,
        request: Request<'_>,
        link: &ServerLink,
    ) -> RedisResult<T> {
        let answer = request.send(CallLink::Server(link.manager.clone()));
        if !self.take_write_test() {
            return answer.await;
        }
        let mut tested = link.manager.clone();
        match tokio::join!(LinkTest::Write.run(&mut tested), answer) {
            (LinkHealth::Demoted(error), _) => Err(error),
            // If the server is silent, the call says so itself. A slow server answers the call later.
            (LinkHealth::Alive | LinkHealth::Dead, answer) => answer,
        }
    }

    /// Whether the caller should send a write test now. Of several callers, one is told so.
    fn take_write_test(&self) -> bool {
        let now_ms = u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let take = |tested_at_ms| {
            let is_due = tested_at_ms == 0 || now_ms - now_ms.min(tested_at_ms) >= WRITE_TEST_INTERVAL_MS;
            is_due.then_some(now_ms.max(1))
        };
        self.write_tested_at_ms
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }

    /// Returns a link to a server that accepts writes, after the current server was found to be
    /// demoted. One call connects, in a task of its own, because that may take longer than a call
    /// may.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the address still leads to a demoted server, and then at once
    /// until the pause ends.
    async fn replace_demoted(self: &Arc<Self>) -> Result<ServerLink, LineError> {
        let mut next_at = Arc::clone(&self.next_replacement_at).lock_owned().await;
        let current = self.current_link();
        if !current.is_demoted {
            return Ok(current);
        }
        let now = Instant::now();
        if next_at.is_some_and(|next_at| now < next_at) {
            return Err(still_demoted());
        }
        *next_at = Some(now + RECONNECT_PAUSE_MAX.mul_f64(0.5 + rand::random::<f64>() / 2.0));
        let server = Arc::clone(self);
        let replacement = tokio::spawn(async move {
            let _next_at = next_at;
            server.connect_to_primary().await
        });
        replacement.await.map_err(|error| {
            LineError::Unavailable(format!("the task that connects to Redis failed: {error}"))
        })?
    }

    async fn connect_to_primary(&self) -> Result<ServerLink, LineError> {
        let mut manager = self.open_manager().await?;
        match LinkTest::Write.run(&mut manager).await {
            LinkHealth::Alive => {}
            LinkHealth::Dead => {
                return Err(LineError::Unavailable("Redis did not answer in time".to_owned()));
            }
            LinkHealth::Demoted(_) => return Err(still_demoted()),
        }
        let link = self.set_current(manager);
        self.departures.send_modify(|departures| *departures += 1);
        tracing::info!(
            event = "line.server_replaced",
            "the Redis server did not accept writes: this process connected again and reached one that does"
        );
        Ok(link)
    }

    /// Opens a new link. All later calls use it.
    async fn connect(&self) -> Result<ServerLink, LineError> {
        let manager = self.open_manager().await?;
        Ok(self.set_current(manager))
    }

    async fn open_manager(&self) -> Result<ConnectionManager, LineError> {
        ConnectionManager::new_with_config(self.client.clone(), self.config.clone())
            .await
            .map_err(to_line_error)
    }

    fn current_link(&self) -> ServerLink {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_current(&self, manager: ConnectionManager) -> ServerLink {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = ServerLink {
            manager,
            number: current.number + 1,
            is_demoted: false,
        };
        current.clone()
    }

    /// Records that the server of a link is demoted, unless the link was replaced since.
    fn mark_demoted(&self, link: &ServerLink, error: &RedisError) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.number != link.number || current.is_demoted {
            return;
        }
        current.is_demoted = true;
        tracing::warn!(
            event = "line.server_demoted",
            reason = error.code(),
            "the Redis server does not accept writes: this process connects again through the address"
        );
    }
}

fn still_demoted() -> LineError {
    let reason = "the address leads to a Redis server that does not accept writes (READONLY, MASTERDOWN or \
                  LOADING); this process soon connects again";
    LineError::Unavailable(reason.to_owned())
}
