//! The line in Redis 7 or Valkey, on one server or in a cluster.
//!
//! One script is one step that nobody else can come between, by the server's clock. Each `.lua` file has a `.rs` file of
//! the same name that sends it and turns its reply into an enum; nothing of Redis leaves this folder.

mod adjust;
mod changes;
mod check;
mod checked;
mod claim;
mod configure;
mod connect;
mod defer;
mod end;
mod enter;
mod forget;
mod hold;
mod journal;
mod keys;
mod leave;
mod line;
mod load;
mod looks;
mod mark;
mod mend;
mod page;
mod promote;
mod record;
mod remains;
mod reply;
mod report;
mod rest;
mod restore;
mod revive;
mod script;
mod set_aside;
mod settle;
mod stage;
mod status;
mod tick;
mod validate;
mod view;
mod whole_journal;

use std::{fmt, sync::Arc};

use vestibule_clock::{Clock, system_clock};
use vestibule_domain::id::QueueId;
use vestibule_line::{JournalLimits, LineError};
use vestibule_telemetry::{emf::Metrics, metrics::REDIS_ROUND_TRIP, samples::Durations};

pub use self::connect::{Address, AddressError, IamLogin, IamUser, WallClock};
use self::{
    connect::Connection,
    keys::Keys,
    script::{Call, Command},
};

/// Every queue of a Redis.
#[derive(Clone)]
pub struct RedisLine {
    connection: Connection,
    /// Stands in for the server's clock in tests; nothing sets it elsewhere.
    given: Option<Clock>,
    journal_limits: JournalLimits,
    /// The caller's own clock.
    witness: Clock,
    round_trips: Arc<Durations>,
}

impl RedisLine {
    /// Connects to `redis://host:port`, `rediss://host:port` (TLS), or `redis+cluster://host:port` and
    /// `rediss+cluster://host:port` for a cluster that has this node; `host:port,host:port` where it has both, so that one
    /// may be gone. With `?ca_file=/path/of.pem`, the authorities of that file are trusted and no others.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] where the address is wrong or nobody answers there.
    pub async fn connect(url: &str) -> Result<Self, LineError> {
        Self::open(url, None).await
    }

    /// Connects as [`connect`](Self::connect) does, with a fresh token of a login for each connection.
    ///
    /// # Errors
    /// [`LineError::Unavailable`], too, where the address is one without TLS: a token is a password.
    pub async fn connect_as(url: &str, login: IamLogin) -> Result<Self, LineError> {
        over_tls(url)?;
        Self::open(url, Some(login)).await
    }

    /// Connects as [`connect_as`](Self::connect_as) does, to a test's own server, TLS or not.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] where the address is wrong or nobody answers there.
    #[cfg(feature = "given-time")]
    pub async fn connect_as_in_the_clear(url: &str, login: IamLogin) -> Result<Self, LineError> {
        Self::open(url, Some(login)).await
    }

    /// Knows where to connect to, and does so with the first call: for whoever has something to say also where nobody
    /// answers there. With a login as for [`connect_as`](Self::connect_as).
    ///
    /// # Errors
    /// [`LineError::Unavailable`] where the address is wrong, or a login would go in the clear.
    pub fn connect_later(url: &str, login: Option<IamLogin>) -> Result<Self, LineError> {
        if login.is_some() {
            over_tls(url)?;
        }
        Ok(Self::on(Connection::new(url, login)?))
    }

    async fn open(url: &str, login: Option<IamLogin>) -> Result<Self, LineError> {
        Ok(Self::on(Connection::open(url, login).await?))
    }

    fn on(connection: Connection) -> Self {
        Self {
            connection,
            given: None,
            journal_limits: JournalLimits::default(),
            witness: system_clock(),
            round_trips: Arc::new(Durations::new(REDIS_ROUND_TRIP, Metrics::of_process())),
        }
    }

    /// The same line, whose round trips are written there instead of where the process writes its metrics.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self {
            round_trips: Arc::new(Durations::new(REDIS_ROUND_TRIP, metrics)),
            ..self
        }
    }

    /// The same line by another clock, in the place of both the server's and the caller's: every script takes its time
    /// from the caller.
    #[cfg(feature = "given-time")]
    #[must_use]
    pub fn with_given_time(self, clock: Clock) -> Self {
        Self {
            given: Some(clock.clone()),
            witness: clock,
            ..self
        }
    }

    /// The same line with a journal that holds so much.
    #[cfg(feature = "given-time")]
    #[must_use]
    pub fn with_journal_limits(self, journal_limits: JournalLimits) -> Self {
        Self {
            journal_limits,
            ..self
        }
    }

    /// The same line by another clock of the caller's.
    #[cfg(feature = "given-time")]
    #[must_use]
    pub fn with_witness(self, witness: Clock) -> Self {
        Self { witness, ..self }
    }

    /// Begins a call of a script whose first arguments are the time, empty for the server's own, and the caller's.
    fn call<'a>(&self, command: &'a Command, queue: &'a QueueId) -> Call<'a> {
        command
            .of(&Keys::new(queue))
            .arg(self.given_us())
            .arg(self.witness_ms())
    }

    fn given_us(&self) -> String {
        self.given
            .as_ref()
            .map_or_else(String::new, |clock| clock().to_string())
    }

    fn witness_ms(&self) -> u64 {
        (self.witness)() / 1_000
    }
}

fn over_tls(url: &str) -> Result<(), LineError> {
    if url.starts_with("rediss") {
        return Ok(());
    }
    let reason = "a login goes over TLS alone: rediss:// or rediss+cluster://";
    Err(LineError::Unavailable(reason.to_owned()))
}

impl fmt::Debug for RedisLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may hold a password.
        f.write_str("RedisLine")
    }
}
