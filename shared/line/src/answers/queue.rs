//! Inputs and results of operations on a whole queue.

use std::ops::Deref;

use vestibule_domain::{
    adaptive_pace::PaceInForce,
    change::{Change, Version},
    clock::ClockDifference,
    configuration::Configuration,
    estimate::MovingAverages,
    lane::{LANES, LaneProgress},
    load::LastLoadReport,
    pace::{LimitedBy, Pace, PaceBucket},
    queue_state::QueueState,
    tally::QueueTotals,
};

use super::{
    journal::JournalRecord,
    loss::{Imbalance, TickMark},
};

/// The answer to [`Line::adjust_clock`](crate::Line::adjust_clock).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdjustClockOutcome {
    /// The line now adds this offset to its server's clock.
    Applied,
    /// The clocks already agree. Nothing changed.
    ClocksAgree,
    /// No third clock supports the caller's clock, or the clocks moved after the caller read them.
    /// Nothing changed.
    NotConfirmed,
}

/// The answer to [`Line::configure`](crate::Line::configure) and
/// [`Line::restore`](crate::Line::restore).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigureOutcome {
    /// The line did not have the queue, and has it now.
    Created,
    /// The line applied a different configuration.
    Changed,
    /// This configuration was already in force.
    Unchanged,
    /// A newer configuration is in force and stays in force.
    Superseded,
    /// The line has switches that the backup may not have. Nothing changed: the caller saves them in the backup first.
    SwitchesUnsaved,
    /// The line has the queue with an earlier epoch. A restore is under way or has to follow.
    /// Nothing changed.
    NeedsRestore,
}

/// The changes of a dropped queue that the backup may not have yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnflushedChanges {
    /// The generation of the dropped queue. `None` if the line had already lost it.
    pub generation: Option<u32>,
    /// The oldest records of its journal.
    pub records: Vec<JournalRecord>,
    /// Ends that the backup may not have yet.
    pub ends: Vec<Change>,
}

/// The answer to [`Line::raise_watermark`](crate::Line::raise_watermark).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RaiseWatermarkOutcome {
    /// The watermark now has this value.
    Raised(u64),
    /// The queue has not changed since the watermark was last raised, so the watermark stays the same.
    Unchanged,
    /// The line's watermark is below the one in the backup: the line restarted with stale data.
    /// Nothing changed.
    StaleLine,
    /// The queue has another epoch. Nothing changed.
    OtherEpoch,
}

/// The state of a queue at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueView {
    /// The configuration of the queue.
    pub configuration: Configuration,
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// The number of waiting entries, also the absent ones.
    pub waiting: u64,
    /// The number of waiting entries that were passed over and are absent.
    pub absent: u64,
    /// The number of ready entries: promoted and not yet claimed.
    pub ready: u64,
    /// The number of active entries.
    pub active: u64,
    /// The number of held slots: of visitors who left or were evicted while a pass can still be shown.
    pub held: u64,
    /// The number of records in the journal.
    pub journal_len: u64,
    /// The highest score promoted so far. Each entry that waited at this score or a lower one has
    /// been promoted.
    pub promoted_through: u64,
    /// Why the last tick promoted no entry although some wait; `None` if it promoted some, or if the
    /// pace was the reason.
    pub standstill: Option<LimitedBy>,
    /// How far each lane has moved, in order. The first lane is always there.
    pub lanes: Vec<(u8, LaneProgress)>,
    /// The number of waiting entries of each lane, from lane 0 on, also the absent ones.
    pub waiting_by_lane: [u64; LANES as usize],
    /// When the promoter last ticked, in Unix milliseconds; 0 if it never did, and while it is parked.
    pub heartbeat_ms: u64,
    /// When a request last took a fallback tick, in Unix milliseconds; 0 if no request did.
    pub fallback_ticked_at_ms: u64,
    /// The pace bucket at its last change.
    pub bucket: PaceBucket,
    /// The pace at which the bucket has refilled since then.
    pub bucket_pace: Pace,
    /// The moving averages.
    pub averages: MovingAverages,
    /// The version of the last change.
    pub version: Version,
    /// Totals since the line created or restored the queue.
    pub totals: QueueTotals,
    /// What the `gone_ahead` of the lanes lack to be the entries that went past the head, promoted or passed over: entries
    /// that were put back into the line or into another lane, and those that were promoted out of turn.
    pub gone_ahead_offset: u64,
    /// The last tick.
    pub last_tick: TickMark,
    /// How the totals compare with the entries in the line.
    pub imbalance: Imbalance,
    /// When the line noticed that it may have lost changes, in Unix milliseconds; 0 if no check is
    /// due for that.
    pub check_due_ms: u64,
    /// How the clocks of the server and the caller compare, so whether line time is certain.
    pub clocks: ClockDifference,
    /// The times until active sessions end, in milliseconds: the first one, one at each twentieth
    /// of the ascending order, and the last one. Empty if no entry is active.
    pub session_ends_in_ms: Vec<u64>,
    /// The last load report of the protected service since the queue was created or restored. It may be too old to
    /// count: see [`valid_load`](Self::valid_load).
    pub load: Option<LastLoadReport>,
}

/// The state of a queue at one moment, with what only operators and the promoter ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorView {
    /// What visitors need, too.
    pub view: QueueView,
    /// The number of ends that the backup may not have yet. They include ends of entries that have
    /// entered again since.
    pub unsettled_ends: u64,
    /// The number of dead letters: records that the backup keeps rejecting.
    pub dead_letters: u64,
    /// The number of waiting entries that are called and not absent.
    pub called: u64,
    /// The number of waiting entries whose visitors are present.
    pub present: u64,
}

impl Deref for OperatorView {
    type Target = QueueView;

    fn deref(&self) -> &QueueView {
        &self.view
    }
}

impl QueueView {
    /// What the queue does at `now_ms`, by its settings.
    pub fn state(&self) -> QueueState {
        self.configuration.queue_state(self.now_ms)
    }

    /// When the queue opened to its visitors, in Unix milliseconds; `None` if it has not, or no visitor has come yet. A
    /// restored line counts only live entries.
    pub fn find_opening(&self) -> Option<u64> {
        let came = self.totals.entered + self.totals.returned + self.waiting + self.ready + self.active;
        self.configuration.find_opening(self.now_ms, came > 0)
    }

    /// The pace in force.
    pub fn pace_in_force(&self) -> PaceInForce {
        self.configuration.settings.pace_in_force(self.load, self.now_ms)
    }

    /// How many entries the pace allows now.
    pub fn bucket_tokens(&self) -> u64 {
        let pace = self.pace_in_force().pace;
        let bucket = self.bucket.refill_to_pace(self.bucket_pace, pace, self.now_ms);
        bucket.tokens(pace)
    }

    /// The last load report, if it is not too old.
    pub fn valid_load(&self) -> Option<LastLoadReport> {
        let ttl_ms = self.configuration.settings.load_ttl_ms();
        self.load.filter(|load| load.is_valid(self.now_ms, ttl_ms))
    }

    /// Whether entries are promoted if there is room for them: the switches allow it, and the protected service is not
    /// down.
    pub fn is_moving(&self) -> bool {
        self.configuration.can_promote(self.now_ms) && !self.pace_in_force().is_service_down
    }

    /// Why the line promotes no entry now, although some wait; `None` if it does, and if the next one is only not due yet.
    pub fn limited_by(&self) -> Option<LimitedBy> {
        if self.clocks.apart {
            return Some(LimitedBy::Clock);
        }
        // The clocks have agreed again since the last tick.
        self.standstill.filter(|limit| *limit != LimitedBy::Clock)
    }

    /// The number of slots taken: of entries that are ready or active, and held ones.
    pub fn taken_slots(&self) -> u64 {
        self.ready + self.active + self.held
    }

    /// The number of waiting entries without the absent ones: the length of the line that a visitor
    /// sees.
    pub fn in_line(&self) -> u64 {
        self.waiting.saturating_sub(self.absent)
    }

    /// Whether a visitor who enters now gets no place, because as many wait as the queue allows. Like
    /// the counts, this is an estimate: the line decides by its own counts.
    pub fn is_full(&self) -> bool {
        let limit = self.configuration.settings.queue_limit();
        limit.is_some_and(|limit| self.in_line() >= limit)
    }
}
