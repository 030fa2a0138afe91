//! About a whole queue.

use vestibule_domain::{
    change::{Change, Version},
    clock::Clocks,
    estimate::Averages,
    id::Salt,
    load::LastLoad,
    pace::{Bucket, HeldBackBy},
    score::WaitScore,
    settings::Settings,
};

/// What a promotion is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromoteOrder {
    /// The most entries to promote; one call moves [`PROMOTE_CHUNK`](crate::PROMOTE_CHUNK) at most.
    pub asked: u64,
    /// Whether the caller is the promoter: its heartbeat is noted.
    pub heartbeat: bool,
    /// What the line must show, where the caller knows: one that does not has lost the queue, and promotes nobody.
    pub fence: Option<Fence>,
}

/// How far a line was at least, as the backup or a driver knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The queue's epoch.
    pub epoch: u32,
    /// The line has shown a [mark](crate::Line::mark) as high as this.
    pub mark: u64,
}

/// What one call of [`Line::promote`](crate::Line::promote) did, and how the queue stands after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promotion {
    /// Waiting to ready.
    pub promoted: u64,
    /// Ready entries dropped because nobody claimed them.
    pub no_shows: u64,
    /// Active entries dropped at the end of their session.
    pub expired: u64,
    /// What kept more from being promoted.
    pub held_back_by: HeldBackBy,
    /// The chunk was full: there is more to do right away.
    pub more: bool,
    /// In line.
    pub waiting: u64,
    /// Promoted and not yet claimed.
    pub ready: u64,
    /// Let in.
    pub active: u64,
    /// The highest score promoted so far.
    pub promoted_through: u64,
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// Whether it is certain.
    pub clocks: Clocks,
}

/// The answer to adjusting the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adjusted {
    /// From now on the server's clock counts with this offset.
    Adjusted,
    /// The clocks agree: nothing changed.
    Agree,
    /// Nobody else speaks for the caller's clock, or the clocks moved since they were read: nothing changed.
    Doubtful,
}

/// How often a queue is reported on, however many ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportOrder {
    /// Milliseconds between two reports.
    pub every_ms: u64,
    /// The same for a queue where nobody is and nothing happened.
    pub idle_ms: u64,
}

/// The answer to asking for a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reported {
    /// It was due, and nobody else gets this one.
    Due(Box<Report>),
    /// Somebody had one a moment ago, or there is nothing to report.
    Early {
        /// Ask again in so many milliseconds.
        due_in_ms: u64,
    },
}

/// What happened to a queue since the report before, and how it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// In line.
    pub waiting: u64,
    /// Promoted and not yet claimed.
    pub ready: u64,
    /// Let in.
    pub active: u64,
    /// Records in the journal.
    pub journal: u64,
    /// Records that were set aside, since the backup refuses them.
    pub aside: u64,
    /// How long ago the first change in the journal happened; 0 where there is none.
    pub backup_lag_ms: u64,
    /// The place of the head of the line.
    pub head: Option<WaitScore>,
    /// The place of the last one in line.
    pub tail: Option<WaitScore>,
    /// The longest time without a heartbeat.
    pub tick_age_ms: u64,
    /// How long those who were promoted waited, all together.
    pub waited_ms: u64,
    /// The longest of these waits.
    pub waited_max_ms: u64,
    /// What happened.
    pub happened: Happened,
    /// The queue's generation.
    pub generation: u32,
    /// How long ago the last check ended that went through the whole queue.
    pub check_age_ms: u64,
}

/// Counts since the report before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Happened {
    /// New visits.
    pub entered: u64,
    /// Waiting to ready.
    pub promoted: u64,
    /// Done.
    pub completed: u64,
    /// Walked away, or removed.
    pub left: u64,
    /// Sessions that ran out.
    pub expired: u64,
    /// Promoted, and never claimed in time.
    pub no_shows: u64,
}

/// What a queue is set up with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The settings in force.
    pub settings: Settings,
    /// Names these settings: another revision is another configuration.
    pub revision: String,
    /// How often Vestibule replaced the stored settings: of two readings the one with the higher number is the later.
    pub settings_order: u64,
    /// Goes up at each restore.
    pub epoch: u32,
    /// Goes up at each reset.
    pub generation: u32,
    /// The lowest epoch of which passes count.
    pub min_epoch: u32,
    /// Of this generation.
    pub salt: Salt,
}

/// The answer to configuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Configured {
    /// The queue is new to the line.
    Created,
    /// Another configuration is in force now.
    Changed,
    /// It was in force already.
    Same,
    /// A later one is in force, and stays so.
    Older,
    /// The queue in force is of an earlier epoch: it is about to be put back, or has to be. Nothing changed.
    Behind,
}

/// What a queue that was dropped to be put back has left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remains {
    /// Of which generation it is, where the line still knew.
    pub generation: Option<u32>,
    /// The oldest records of its journal.
    pub records: Vec<JournalRecord>,
    /// Ends that the backup may not have.
    pub ends: Vec<Change>,
}

/// The answer to raising a line's mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marked {
    /// The mark is this one now.
    Marked(u64),
    /// Nothing changed since the last one.
    Same,
    /// It is below the fence: the line came back as it was some time ago.
    Old,
    /// The queue is of another epoch.
    Other,
}

/// How a queue stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// What it is set up with.
    pub configuration: Configuration,
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// In line.
    pub waiting: u64,
    /// Promoted and not yet claimed.
    pub ready: u64,
    /// Let in.
    pub active: u64,
    /// Ends that the backup may not have yet, also of those who came again since.
    pub ended: u64,
    /// Records in the journal.
    pub journal: u64,
    /// Records that were set aside, since the backup refuses them.
    pub aside: u64,
    /// The highest score promoted so far: whoever waits below it has been promoted.
    pub promoted_through: u64,
    /// When the promoter last ticked, in Unix milliseconds; 0 for never, and while it rests.
    pub heartbeat_ms: u64,
    /// When somebody who called last took a tick in the promoter's stead, in Unix milliseconds; 0 for never.
    pub driven_at_ms: u64,
    /// The pace bucket as it stood at its last change.
    pub bucket: Bucket,
    /// What was counted lately.
    pub averages: Averages,
    /// The version of the last change.
    pub version: Version,
    /// Counts since the queue was created.
    pub totals: Totals,
    /// Whether it is certain what time it is: by the clock of whoever asked.
    pub clocks: Clocks,
    /// In how many milliseconds the sessions of those end who are let in: of the first, of those at each twentieth of the way,
    /// and of the last one; empty where nobody is.
    pub session_ends_in_ms: Vec<u64>,
    /// The protected service's last load report, where it still counts.
    pub load: Option<LastLoad>,
}

/// Counts since the queue was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Totals {
    /// New visits.
    pub entered: u64,
    /// Of these, let in at once.
    pub fast_tracked: u64,
    /// Waiting to ready.
    pub promoted: u64,
    /// Ready to active.
    pub claimed: u64,
    /// Done.
    pub completed: u64,
    /// Walked away, or removed.
    pub left: u64,
    /// Sessions that ran out.
    pub expired: u64,
    /// Promoted, and never claimed in time.
    pub no_shows: u64,
}

/// One record of the journal: changes that are not in the backup yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRecord {
    /// Names the record, for [`Line::settle`](crate::Line::settle).
    pub key: String,
    /// Of different entries, so they may be written in any order.
    pub changes: Vec<Change>,
    /// How often the backup refused it while it took others.
    pub tries: u32,
    /// When it is due again, in Unix milliseconds; 0 for at once.
    pub retry_at_ms: u64,
    /// What is wrong with a record that makes no sense: it has no changes then.
    pub unreadable: Option<String>,
}

/// What comes in place of a journal record of which the backup did not take all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferral {
    /// The record.
    pub key: String,
    /// Changes that nobody tried: one record, due at once.
    pub rest: Vec<Change>,
    /// Changes that the backup refused: a record for each.
    pub refused: Vec<Change>,
    /// How often it refused them by now.
    pub tries: u32,
    /// In how many milliseconds these are due again.
    pub wait_ms: u64,
}

/// The answer to setting a record aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetAside {
    /// It is no longer in the journal.
    Done,
    /// Somebody else has dealt with it.
    Gone,
    /// As many are as may be: it stays in the journal. See [`JournalLimits`](crate::JournalLimits).
    Full,
}
