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

use async_trait::async_trait;

pub(crate) use self::connect::Address;
pub use self::connect::{IamLogin, IamUser, WallClock};
use self::{
    connect::{Connection, Sender, failed},
    keys::Keys,
    script::{Call, Command},
};
use super::{
    Adjusted, Changes, Check, CheckOrder, CheckTurn, Claimed, Configuration, Configured, Cursor, Deferral,
    Departed, Departure, Entered, Extended, Extension, HoldOrder, Holding, JournalLimits, JournalRecord,
    Line, LineError, Look, Marked, Mended, Mending, Page, Places, PromoteOrder, Promotion, Remains,
    ReportOrder, Reported, Revival, Revived, SetAside, TickOrder, Validated, View,
    memory::{Clock, system_clock},
};
use crate::{
    domain::{
        change::{Change, Ending},
        id::{EntryId, QueueId},
        load::LoadReport,
        score::Visit,
    },
    telemetry::{emf::Metrics, metrics::REDIS_ROUND_TRIP, samples::Durations},
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

#[async_trait]
impl Line for RedisLine {
    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<Entered, LineError> {
        enter::enter(self, queue, id).await
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<Look, LineError> {
        status::status(self, queue, id).await
    }

    async fn looks(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<Look>, LineError> {
        looks::looks(self, queue, ids).await
    }

    async fn changes(&self, queue: &QueueId) -> Result<Changes, LineError> {
        changes::changes(self, queue).await
    }

    async fn end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError> {
        end::end(self, queue, id).await
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<Claimed, LineError> {
        claim::claim(self, queue, id).await
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: Departure,
    ) -> Result<Departed, LineError> {
        leave::leave(self, queue, id, visit, departure).await
    }

    async fn validate(&self, queue: &QueueId, id: EntryId, check: Check) -> Result<Validated, LineError> {
        validate::validate(self, queue, id, check).await
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: Extension,
    ) -> Result<Extended, LineError> {
        validate::extend(self, queue, id, extension).await
    }

    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        promote::promote(self, queue, order).await
    }

    async fn take_tick(&self, queue: &QueueId, order: TickOrder) -> Result<bool, LineError> {
        tick::take(self, queue, order).await
    }

    async fn rest(&self, queue: &QueueId) -> Result<bool, LineError> {
        rest::rest(self, queue).await
    }

    async fn adjust(&self, queue: &QueueId, offset_ms: i64) -> Result<Adjusted, LineError> {
        adjust::adjust(self, queue, offset_ms).await
    }

    async fn report(&self, queue: &QueueId, order: ReportOrder) -> Result<Reported, LineError> {
        report::report(self, queue, order).await
    }

    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<Configured, LineError> {
        configure::configure(self, queue, configuration, create).await
    }

    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: Places,
    ) -> Result<Configured, LineError> {
        restore::restore(self, queue, configuration, fence, places).await
    }

    async fn forget(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        forget::forget(self, queue, epoch).await
    }

    async fn remains(&self, queue: &QueueId, most: usize) -> Result<Remains, LineError> {
        remains::remains(self, queue, most).await
    }

    async fn mark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<Marked, LineError> {
        mark::mark(self, queue, epoch, fence).await
    }

    async fn revive(&self, queue: &QueueId, revival: &Revival) -> Result<Revived, LineError> {
        revive::revive(self, queue, revival).await
    }

    async fn page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        page::page(self, queue, from).await
    }

    async fn mend(&self, queue: &QueueId, mending: &Mending) -> Result<Mended, LineError> {
        mend::mend(self, queue, mending).await
    }

    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckTurn, LineError> {
        check::take(self, queue, order).await
    }

    async fn note_check(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        checked::note(self, queue, shards).await
    }

    async fn keep_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        load::keep(self, queue, report).await
    }

    async fn view(&self, queue: &QueueId) -> Result<View, LineError> {
        view::view(self, queue).await
    }

    async fn journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        journal::read(self, queue, most).await
    }

    async fn whole_journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        whole_journal::read(self, queue, most).await
    }

    async fn record(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        record::record(self, queue, change).await
    }

    async fn defer(&self, queue: &QueueId, deferral: &Deferral) -> Result<(), LineError> {
        defer::defer(self, queue, deferral).await
    }

    async fn set_aside(&self, queue: &QueueId, key: &str) -> Result<SetAside, LineError> {
        set_aside::set_aside(self, queue, key).await
    }

    async fn aside(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        whole_journal::read_aside(self, queue, most).await
    }

    async fn settle(&self, queue: &QueueId, keys: &[String], ended: &[Ending]) -> Result<(), LineError> {
        settle::settle(self, queue, keys, ended).await
    }

    async fn hold(&self, order: &HoldOrder<'_>) -> Result<Holding, LineError> {
        hold::hold(self, order).await
    }

    async fn release(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        hold::release(self, deployment, ids).await
    }

    async fn ping(&self) -> Result<(), LineError> {
        let ping = async |mut link: Sender| redis::cmd("PING").query_async(&mut link).await.map_err(failed);
        self.connection.call(ping).await
    }
}
