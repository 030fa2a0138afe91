//! Every metric there is: its name and its unit. The dashboard and the alarms of the template name the same ones.

/// The namespace in CloudWatch.
pub const NAMESPACE: &str = "Vestibule";
/// The dimension that names the deployment: the value of `VESTIBULE_DEPLOYMENT`.
pub const DEPLOYMENT: &str = "Deployment";
/// The dimension that names the queue.
pub const QUEUE: &str = "Queue";
/// Every metric is there for each queue, and for all queues of a deployment together.
pub const DIMENSION_SETS: [&[&str]; 2] = [&[DEPLOYMENT], &[DEPLOYMENT, QUEUE]];

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its unit, by CloudWatch's name.
    pub unit: &'static str,
}

const fn count(name: &'static str) -> Metric {
    Metric { name, unit: "Count" }
}

const fn milliseconds(name: &'static str) -> Metric {
    Metric {
        name,
        unit: "Milliseconds",
    }
}

/// In line at the moment of the report.
pub const WAITING: Metric = count("Waiting");
/// Promoted and not yet claimed, at the moment of the report.
pub const READY: Metric = count("Ready");
/// Let in, at the moment of the report.
pub const ACTIVE: Metric = count("Active");
/// Records in the journal: what the line decided and the backup does not have yet.
pub const JOURNAL_LENGTH: Metric = count("JournalLength");
/// The age of the oldest record in the journal; 0 where it is empty.
pub const BACKUP_LAG: Metric = milliseconds("BackupLagMs");
/// Records that were set aside, since the backup refuses them while it takes others.
pub const SET_ASIDE: Metric = count("RecordsSetAside");
/// The longest time between two heartbeats since the last report: a promoter that was away shows when it is back. While
/// none is there, nobody reports.
pub const TICK_AGE: Metric = milliseconds("TickAgeMs");
/// How long those waited who were promoted since the last report, on average. Where nobody was promoted and somebody
/// waits, how long the head of the line has waited. Not there where neither is.
pub const WAIT_MEAN: Metric = milliseconds("WaitMeanMs");
/// The longest wait of those who were promoted since the last report and of the head that still waits. Not there where
/// neither is.
pub const WAIT_MAX: Metric = milliseconds("WaitMaxMs");
/// How much longer than estimated somebody waited (less: negative). Now and then the last one in line is remembered with
/// the middle of what they are told, and compared when the line has been promoted through their place.
pub const ESTIMATE_ERROR: Metric = milliseconds("EstimateErrorMs");
/// How long a call of Redis took, whatever came of it, as the caller saw it: a value for each.
pub const REDIS_ROUND_TRIP: Metric = milliseconds("RedisRoundTripMs");
/// New visits since the last report, with those on the fast track.
pub const ENTERED: Metric = count("Entered");
/// Promoted since the last report.
pub const PROMOTED: Metric = count("Promoted");
/// Sessions that ran out since the last report.
pub const EXPIRED: Metric = count("Expired");
/// Turns that nobody claimed in time, since the last report.
pub const NO_SHOWS: Metric = count("NoShows");
/// Who walked away or was removed, since the last report.
pub const LEFT: Metric = count("Left");
/// Who was done, since the last report.
pub const COMPLETED: Metric = count("Completed");
/// Polls that began to be held: the sum counts them.
pub const HELD_POLLS: Metric = count("HeldPolls");
/// The most polls that the whole deployment held at once, as whoever began to hold one on this queue saw it.
pub const HELD_AT_ONCE: Metric = count("HeldAtOnce");
/// 1 while the stored settings of a queue are refused, or the item that holds them is damaged or gone; 0 otherwise.
pub const SETTINGS_REFUSED: Metric = count("SettingsRefused");
/// Differences between the line and the backup that a check mended: the sum counts them. Written by each part of a check,
/// also where there were none.
pub const MENDED: Metric = count("Mended");
/// How long ago the last check ended that went through the whole queue.
pub const CHECK_AGE: Metric = milliseconds("CheckAgeMs");
/// 1 while the clocks of the server and of a promoter are apart, so that the queue holds; 0 otherwise.
pub const CLOCKS_APART: Metric = count("ClocksApart");

/// All of them.
pub const ALL: [Metric; 23] = [
    WAITING,
    READY,
    ACTIVE,
    JOURNAL_LENGTH,
    BACKUP_LAG,
    SET_ASIDE,
    TICK_AGE,
    WAIT_MEAN,
    WAIT_MAX,
    ESTIMATE_ERROR,
    REDIS_ROUND_TRIP,
    ENTERED,
    PROMOTED,
    EXPIRED,
    NO_SHOWS,
    LEFT,
    COMPLETED,
    HELD_POLLS,
    HELD_AT_ONCE,
    SETTINGS_REFUSED,
    MENDED,
    CHECK_AGE,
    CLOCKS_APART,
];
