//! Inputs and results of the reports on a queue.

use vestibule_domain::score::WaitScore;

/// How often a queue is reported. The limits hold for all callers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportOrder {
    /// The time between two reports, in milliseconds.
    pub every_ms: u64,
    /// The same for an empty queue without events, in milliseconds.
    pub idle_ms: u64,
}

/// The answer to [`Line::take_report`](crate::Line::take_report).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportOutcome {
    /// A report was due. No other caller gets this one.
    Due(Box<Report>),
    /// The report is not due yet, or there is nothing to report.
    NotDue {
        /// Ask again after this many milliseconds.
        due_in_ms: u64,
    },
}

/// The events of a queue since its last report, and the state of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// The number of waiting entries.
    pub waiting: u64,
    /// The number of ready entries: promoted and not yet claimed.
    pub ready: u64,
    /// The number of active entries.
    pub active: u64,
    /// The number of records in the journal.
    pub journal_len: u64,
    /// The number of dead letters: records that the backup keeps rejecting.
    pub dead_letters: u64,
    /// The age of the first change in the journal, in milliseconds; 0 if the journal is empty.
    pub backup_lag_ms: u64,
    /// The place of the first waiting entry that is not absent.
    pub head: Option<WaitScore>,
    /// The place of the last waiting entry.
    pub tail: Option<WaitScore>,
    /// The longest time without a heartbeat of the promoter, in milliseconds.
    pub tick_age_ms: u64,
    /// The sum of the waits of all promoted entries, in milliseconds.
    pub waited_ms: u64,
    /// The longest of these waits, in milliseconds.
    pub waited_max_ms: u64,
    /// The sum of how long the sessions lasted that ended, in milliseconds.
    pub stayed_ms: u64,
    /// The number of these sessions. One whose beginning is not known is not counted.
    pub stays: u64,
    /// The events since the last report.
    pub events: QueueEvents,
    /// The generation of the queue.
    pub generation: u32,
    /// The time since the last check that covered the whole queue ended, in milliseconds.
    pub check_age_ms: u64,
    /// The number of waiting entries that are called and not absent.
    pub called: u64,
    /// The number of waiting entries whose visitors are present.
    pub present: u64,
    /// The number of waiting entries that were passed over and are absent.
    pub absent: u64,
    /// The age of the last load report of the protected service, in milliseconds; `None` if there is none.
    pub load_age_ms: Option<u64>,
}

/// The number of events of a queue since its last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueEvents {
    /// New visits.
    pub entered: u64,
    /// Entries that went from waiting to ready.
    pub promoted: u64,
    /// Visits that were completed.
    pub completed: u64,
    /// Visits that the visitor or an operator ended.
    pub left: u64,
    /// Sessions that expired.
    pub expired: u64,
    /// Promoted entries whose visitors did not claim in time.
    pub no_shows: u64,
    /// Waiting entries whose visitors were absent for too long.
    pub absences: u64,
}
