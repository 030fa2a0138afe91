//! Makes the line of one Redis: its connection, its clocks and its limits.

use std::{
    fmt,
    sync::{Arc, atomic::AtomicBool},
};

#[cfg(feature = "embedded")]
use vestibule_line_embedded::EmbeddedServer;
use vestibule_telemetry::clock::{Clock, system_clock};
use vestibule_telemetry::{emf::Metrics, metrics::REDIS_ROUND_TRIP, samples::DurationSamples};

#[cfg(feature = "test-hooks")]
use crate::connect::Tap;
use crate::{
    JournalLimits, LineError,
    calls::TimeSources,
    connect::{Connection, IamLogin, Request, Timeouts},
};

/// All queues of one Redis server or cluster.
#[derive(Clone)]
pub struct Line {
    pub(super) connection: Connection,
    /// Replaces the server's clock in tests. `None` in production.
    pub(super) given_clock: Option<Clock>,
    pub(super) journal_limits: JournalLimits,
    /// The caller's own clock, which scripts compare with the server's. See
    /// [`clock`](vestibule_domain::clock).
    witness: Clock,
    pub(super) round_trips: Arc<DurationSamples>,
    /// Whether the server knows `ZRANK … WITHSCORE`, which Redis has since 7.2. True until it
    /// refuses the first.
    pub(super) ranks_with_score: Arc<AtomicBool>,
    pub(super) time_sources: Arc<TimeSources>,
    /// The name of the backup, which tells the queues of this deployment from those of another one on the same Redis.
    pub(super) backup_name: Arc<str>,
}

impl Line {
    /// Connects to Redis and returns when the connection is open.
    ///
    /// | `url` | connects to |
    /// | --- | --- |
    /// | `redis://host:port` | one server, without TLS |
    /// | `rediss://host:port` | one server, with TLS |
    /// | `redis+cluster://host:port` | the cluster that has this node, without TLS |
    /// | `rediss+cluster://host:port` | the cluster that has this node, with TLS |
    ///
    /// The address of a cluster may name several nodes (`host:port,host:port`), so that the client
    /// can start while one of them is down. With `?ca_file=/path/of.pem`, the client trusts the
    /// certificate authorities in that file and no others.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the address is malformed or the server does not answer.
    pub async fn connect(url: &str) -> Result<Self, LineError> {
        Self::open(url, None).await
    }

    /// Connects as [`connect`](Self::connect) does and logs in by IAM: `login` makes a fresh token
    /// for each connection.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] as for [`connect`](Self::connect), and also if the address does
    /// not use TLS, because a token is a password.
    pub async fn connect_with_login(url: &str, login: IamLogin) -> Result<Self, LineError> {
        require_tls(url)?;
        Self::open(url, Some(login)).await
    }

    /// Connects as [`connect`](Self::connect) does, and waits much longer for the server. For tests of anything else
    /// than the time limits, on a busy machine.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the address is malformed or the server does not answer.
    #[cfg(feature = "test-hooks")]
    pub async fn connect_patiently(url: &str) -> Result<Self, LineError> {
        Ok(Self::from_connection(
            Connection::open(url, None, Timeouts::PATIENT).await?,
        ))
    }

    /// Connects as [`connect_with_login`](Self::connect_with_login) does, but also without TLS. For
    /// tests that start their own server.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the address is malformed or the server does not answer.
    #[cfg(feature = "test-hooks")]
    pub async fn connect_with_login_without_tls(url: &str, login: IamLogin) -> Result<Self, LineError> {
        Self::open(url, Some(login)).await
    }

    /// Prepares a client that connects with its first call. A process that can also serve requests while
    /// Redis does not answer starts this way. `login` works as in
    /// [`connect_with_login`](Self::connect_with_login).
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the address is malformed, or if the login would be sent
    /// without TLS.
    pub fn connect_lazily(url: &str, login: Option<IamLogin>) -> Result<Self, LineError> {
        if login.is_some() {
            require_tls(url)?;
        }
        Ok(Self::from_connection(Connection::new(
            url,
            login,
            Timeouts::PRODUCTION,
        )?))
    }

    /// An empty line inside this process, on the server that runs the same scripts, with the system's clock.
    #[cfg(feature = "embedded")]
    #[must_use]
    pub fn in_process() -> Self {
        Self::in_process_with_clock(system_clock())
    }

    /// An empty line inside this process with another clock, such as that of a simulation. It is the clock of the server
    /// and of the callers.
    #[cfg(feature = "embedded")]
    #[must_use]
    pub fn in_process_with_clock(clock: Clock) -> Self {
        Self::on_embedded(EmbeddedServer::new(clock))
    }

    /// The line of this server inside the process, whose callers have the server's clock.
    #[cfg(feature = "embedded")]
    #[must_use]
    pub fn on_embedded(server: EmbeddedServer) -> Self {
        Self {
            witness: server.clock(),
            ..Self::from_connection(Connection::to_embedded(server))
        }
    }

    async fn open(url: &str, login: Option<IamLogin>) -> Result<Self, LineError> {
        Ok(Self::from_connection(
            Connection::open(url, login, Timeouts::PRODUCTION).await?,
        ))
    }

    fn from_connection(connection: Connection) -> Self {
        Self {
            connection,
            given_clock: None,
            journal_limits: JournalLimits::default(),
            witness: system_clock(),
            ranks_with_score: Arc::new(AtomicBool::new(true)),
            time_sources: Arc::default(),
            backup_name: Arc::default(),
            round_trips: Arc::new(DurationSamples::new(REDIS_ROUND_TRIP, Metrics::for_process())),
        }
    }

    /// Names the backup to which the queues of this line belong: the table of the queues.
    #[must_use]
    pub fn with_backup_name(self, name: &str) -> Self {
        Self {
            backup_name: name.into(),
            ..self
        }
    }

    /// Writes the round-trip metric to `metrics` instead of the metrics of the process.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self {
            round_trips: Arc::new(DurationSamples::new(REDIS_ROUND_TRIP, metrics)),
            ..self
        }
    }

    /// Replaces both the server's clock and the caller's by `clock`. Every script then takes its
    /// time from the caller. For tests.
    #[cfg(feature = "test-hooks")]
    #[must_use]
    pub fn with_given_time(self, clock: Clock) -> Self {
        Self {
            given_clock: Some(clock.clone()),
            witness: clock,
            ..self
        }
    }

    /// Replaces the limits of the journal. For tests.
    #[cfg(feature = "test-hooks")]
    #[must_use]
    pub fn with_journal_limits(self, journal_limits: JournalLimits) -> Self {
        Self {
            journal_limits,
            ..self
        }
    }

    /// Replaces the caller's own clock. For tests.
    #[cfg(feature = "test-hooks")]
    #[must_use]
    pub fn with_witness(self, witness: Clock) -> Self {
        Self { witness, ..self }
    }

    /// Puts a tap between the line and its server. For tests.
    #[cfg(feature = "test-hooks")]
    #[must_use]
    pub fn with_tap(self, tap: Arc<dyn Tap>) -> Self {
        Self {
            connection: self.connection.with_tap(tap),
            ..self
        }
    }

    /// How often this process left a server of the line because another one had replaced it. The
    /// new server may lack the last changes.
    pub fn server_departures(&self) -> u64 {
        self.connection.departures()
    }

    /// Checks that the line answers.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if it does not.
    pub async fn ping(&self) -> Result<(), LineError> {
        self.connection.send(Request::Command(&redis::cmd("PING"))).await
    }

    pub(super) fn given_us(&self) -> String {
        self.given_clock
            .as_ref()
            .map_or_else(String::new, |clock| clock().to_string())
    }

    pub(super) fn witness_us(&self) -> u64 {
        (self.witness)()
    }

    pub(super) fn witness_ms(&self) -> u64 {
        self.witness_us() / 1_000
    }
}

fn require_tls(url: &str) -> Result<(), LineError> {
    if url.starts_with("rediss") {
        return Ok(());
    }
    let reason = "an IAM login needs TLS: use an address that begins with rediss:// or rediss+cluster://";
    Err(LineError::Unavailable(reason.to_owned()))
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Prints no address, because an address may hold a password.
        f.write_str("Line")
    }
}
