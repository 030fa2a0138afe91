//! What keeps a queue moving: ticks, the promoter's heartbeat, clocks, reports.

use async_trait::async_trait;
use vestibule_domain::{id::QueueId, load::LoadReport};

use super::{
    AdjustClockOutcome, FallbackTickOrder, LineError, PromoteOrder, Promotion, QueueLine, ReportOrder,
    ReportOutcome,
};

/// Promotion and what surrounds it: the heartbeat, fallback ticks, the clock offset, reports and load.
#[async_trait]
pub trait PromotionLine: QueueLine {
    /// Drops entries whose deadline has passed, promotes as many present entries as the pace and the
    /// capacity allow, and writes both to the journal. Goes past absent entries: see
    /// [`presence`](vestibule_domain::presence). If presence is off, all entries are promoted in turn.
    ///
    /// Any number of callers may call this at any moment, because the amount depends only on stored
    /// time and state. Two cases promote and drop nothing and only record the heartbeat: the
    /// journal is at its overall limit, or the clocks of the server and the caller are
    /// apart.
    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError>;

    /// Grants a fallback tick if the promoter is down and no caller had a fallback tick within
    /// `order.every_ms`.
    ///
    /// Returns `true` for the first caller, which then does what the promoter would do. Returns
    /// `false` for every caller while the clocks of the server and the caller are apart.
    async fn take_fallback_tick(&self, queue: &QueueId, order: FallbackTickOrder) -> Result<bool, LineError>;

    /// Clears the promoter's heartbeat, so that the next request runs a fallback tick at once.
    ///
    /// Returns `false` and changes nothing if the queue has live entries or the journal has records.
    async fn park_idle_promoter(&self, queue: &QueueId) -> Result<bool, LineError>;

    /// Sets the offset that the line adds to its server's clock, in milliseconds.
    ///
    /// The line accepts the offset only if two of three clocks support it: see
    /// [`is_server_outvoted`](vestibule_domain::clock::is_server_outvoted). Only a promoter calls
    /// this, because a promoter knows whether its own clock is steady.
    async fn adjust_clock(&self, queue: &QueueId, offset_ms: i64) -> Result<AdjustClockOutcome, LineError>;

    /// Takes the next report: what happened to the queue since the report before.
    ///
    /// If a report is due, the first caller gets it. Any number of callers may ask at any moment,
    /// and each event is in exactly one report.
    async fn take_report(&self, queue: &QueueId, order: ReportOrder) -> Result<ReportOutcome, LineError>;

    /// Stores the load report of the protected service and replaces the one before. With `adaptive`, the pace
    /// follows it for `load_ttl_seconds`.
    async fn record_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError>;
}
