//! The name and the unit of every metric. The dashboard and the alarms of the `CloudFormation`
//! template use the same names.

/// The CloudWatch namespace of all metrics.
pub const NAMESPACE: &str = "Vestibule";
/// The dimension that names the deployment. Its value is `VESTIBULE_DEPLOYMENT`.
pub const DEPLOYMENT: &str = "Deployment";
/// The dimension that names the queue.
pub const QUEUE: &str = "Queue";
/// CloudWatch aggregates every metric per queue, and over all queues of a deployment.
pub const DIMENSION_SETS: [&[&str]; 2] = [&[DEPLOYMENT], &[DEPLOYMENT, QUEUE]];

/// The dimensions of a metric that belongs to no queue.
pub const DEPLOYMENT_DIMENSION_SETS: [&[&str]; 1] = [&[DEPLOYMENT]];

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The name in CloudWatch.
    pub name: &'static str,
    /// The unit, as CloudWatch calls it.
    pub unit: &'static str,
}

const fn count_metric(name: &'static str) -> Metric {
    Metric { name, unit: "Count" }
}

const fn milliseconds_metric(name: &'static str) -> Metric {
    Metric {
        name,
        unit: "Milliseconds",
    }
}

/// Entries that are waiting when the report is made, without the absent ones.
pub const WAITING: Metric = count_metric("Waiting");
/// Waiting entries that are called to check in.
pub const CALLED: Metric = count_metric("Called");
/// Waiting entries whose visitors checked in lately.
pub const PRESENT: Metric = count_metric("Present");
/// Entries that were passed over because their visitors did not check in. They keep their places.
pub const ABSENT: Metric = count_metric("Absent");
/// Entries that are promoted and not claimed yet when the report is made.
pub const READY: Metric = count_metric("Ready");
/// Entries that are active when the report is made.
pub const ACTIVE: Metric = count_metric("Active");
/// The settings' capacity when the report is made. It is absent in the mode `passthrough`, in which it does not count.
pub const CAPACITY: Metric = count_metric("Capacity");
/// The pace in force when the report is made, in entries per minute. 0 while no entry is promoted: by the state of the queue,
/// or because the protected service is down. It is absent in the mode `passthrough`.
pub const PACE_PER_MINUTE: Metric = count_metric("PacePerMinute");
/// The expected wait of the last entry in line: the later end of its range. It is absent if there is no estimate, and 0 if no
/// entry waits.
pub const EXPECTED_END: Metric = milliseconds_metric("ExpectedEndMs");
/// Records in the journal: changes that the line decided and the backup does not have yet.
pub const JOURNAL_LENGTH: Metric = count_metric("JournalLength");
/// The age of the oldest record in the journal; 0 if the journal is empty.
pub const BACKUP_LAG: Metric = milliseconds_metric("BackupLagMs");
/// Journal records in the dead letter. The backup refuses them although it accepts other records.
pub const DEAD_LETTERED_RECORDS: Metric = count_metric("DeadLetteredRecords");
/// The longest time between two heartbeats since the last report. While the promoter is down, no process
/// reports; the outage appears in the first report after it.
pub const TICK_AGE: Metric = milliseconds_metric("TickAgeMs");
/// The mean wait of the entries promoted since the last report. If no entry was promoted, it is how
/// long the head of the line has waited. It is absent if no entry is waiting either.
pub const WAIT_MEAN: Metric = milliseconds_metric("WaitMeanMs");
/// The longest wait: of the entries promoted since the last report, and of the head that is still
/// waiting. It is absent if there are neither.
pub const WAIT_MAX: Metric = milliseconds_metric("WaitMaxMs");
/// How long the sessions lasted that ended since the last report, in whatever way: their mean. It is absent if none ended.
pub const STAY_MEAN: Metric = milliseconds_metric("StayMeanMs");
/// The actual wait minus the estimated wait; negative if the visitor waited less than estimated.
/// The promoter samples it: it remembers the last entry in line with the middle of its estimated
/// range, and compares the two when the line has been promoted through that place.
pub const ESTIMATE_ERROR: Metric = milliseconds_metric("EstimateErrorMs");
/// The duration of each Redis call as the caller saw it, whether it succeeded or failed. One value
/// per call.
pub const REDIS_ROUND_TRIP: Metric = milliseconds_metric("RedisRoundTripMs");
/// New visits since the last report, including those on the fast track.
pub const ENTERED: Metric = count_metric("Entered");
/// Entries promoted since the last report.
pub const PROMOTED: Metric = count_metric("Promoted");
/// Sessions that ran out since the last report.
pub const EXPIRED: Metric = count_metric("Expired");
/// Turns that were not claimed in time, since the last report.
pub const NO_SHOWS: Metric = count_metric("NoShows");
/// Places that were given up because their visitors were absent for too long, since the last report.
pub const ABSENCES: Metric = count_metric("Absences");
/// Visitors who left and entries that an operator removed, since the last report.
pub const LEFT: Metric = count_metric("Left");
/// Visits that were completed, since the last report.
pub const COMPLETED: Metric = count_metric("Completed");
/// Polls that the server started to hold. The sum counts them.
pub const HELD_POLLS: Metric = count_metric("HeldPolls");
/// The most polls that the whole deployment held at once, as observed when a poll on this queue
/// started to be held.
pub const HELD_POLLS_MAX: Metric = count_metric("HeldAtOnce");
/// 1 while the promoter refuses the stored settings of a queue, or while the item that holds them
/// is damaged or missing; 0 otherwise.
pub const SETTINGS_REFUSED: Metric = count_metric("SettingsRefused");
/// Differences between the line and the backup that a consistency check repaired. The sum counts
/// them. Each part of a check writes this metric, also if it found no difference.
pub const REPAIRED: Metric = count_metric("Repaired");
/// The time since the last consistency check of the whole queue finished.
pub const CHECK_AGE: Metric = milliseconds_metric("CheckAgeMs");
/// The age of the last load report of the protected service. It is absent if no report came since the queue was created or
/// restored.
pub const LOAD_REPORT_AGE: Metric = milliseconds_metric("LoadReportAgeMs");
/// 1 while the clocks of the server and of a promoter differ too much, so that the queue does not
/// promote; 0 otherwise.
pub const CLOCKS_APART: Metric = count_metric("ClocksApart");
/// Requests whose authorizer named the visitor. It has no queue.
pub const IDENTITIES_FOUND: Metric = count_metric("IdentitiesFound");
/// Requests that were refused because the authorizer did not name the visitor. It has no queue.
pub const IDENTITIES_MISSING: Metric = count_metric("IdentitiesMissing");
/// 1 when a process could not read the origin key, 0 when it could. It has no queue, and is absent without an origin key.
pub const ORIGIN_KEY_FAILURES: Metric = count_metric("OriginKeyFailures");

/// All metrics.
pub const ALL: [Metric; 35] = [
    WAITING,
    CALLED,
    PRESENT,
    ABSENT,
    READY,
    ACTIVE,
    CAPACITY,
    PACE_PER_MINUTE,
    EXPECTED_END,
    JOURNAL_LENGTH,
    BACKUP_LAG,
    DEAD_LETTERED_RECORDS,
    TICK_AGE,
    WAIT_MEAN,
    WAIT_MAX,
    STAY_MEAN,
    ESTIMATE_ERROR,
    REDIS_ROUND_TRIP,
    ENTERED,
    PROMOTED,
    EXPIRED,
    NO_SHOWS,
    ABSENCES,
    LEFT,
    COMPLETED,
    HELD_POLLS,
    HELD_POLLS_MAX,
    SETTINGS_REFUSED,
    REPAIRED,
    CHECK_AGE,
    LOAD_REPORT_AGE,
    CLOCKS_APART,
    IDENTITIES_FOUND,
    IDENTITIES_MISSING,
    ORIGIN_KEY_FAILURES,
];
