//! The tables: whether they are protected, and how long a restore of the line from them takes.

use vestibule_domain::preflight::Finding;
use vestibule_sizing::facts::{NEW_TABLE_READS, RESTORE_ENTRIES_PER_READ, RESTORE_SECONDS_PER_ENTRY};

use super::unanswered::unanswered;
use crate::account_answers::{Answer, StackAnswer, TableAnswer};

/// The length of a run of the promoter, in seconds. A restore that takes longer begins anew in the next run.
const RUN_SECONDS: f64 = 60.0;
const RIGHTS: &str = "give yourself the rights dynamodb:DescribeTable, dynamodb:DescribeTimeToLive and \
                      dynamodb:DescribeContinuousBackups on the tables of the stack";

/// Whether both tables can be recovered, delete what is old, and cannot be deleted by mistake. A trial is not protected from
/// deletion, and has a finding of its own.
pub(super) fn protection_finding(
    stack: &StackAnswer,
    queues: &Answer<TableAnswer>,
    entries: &Answer<TableAnswer>,
) -> Finding {
    const CHECK: &str = "table-protection";
    let (queues, entries) = match (queues, entries) {
        (Ok(queues), Ok(entries)) => (queues, entries),
        (Err(reason), _) | (_, Err(reason)) => return unanswered(CHECK, reason, RIGHTS),
    };
    let mut wrong = Vec::new();
    for (name, table) in [("queues", queues), ("entries", entries)] {
        if !table.has_recovery {
            wrong.push(format!("the table of the {name} has no point-in-time recovery"));
        }
        if !table.has_time_to_live {
            wrong.push(format!("the table of the {name} has no time to live"));
        }
        if !table.has_deletion_protection && !stack.is_trial() {
            wrong.push(format!("a command can delete the table of the {name}"));
        }
    }
    if wrong.is_empty() {
        return Finding::ok(
            CHECK,
            "both tables have point-in-time recovery and a time to live, and are protected as the size asks",
        );
    }
    Finding::fault(
        CHECK,
        wrong.join(", "),
        "deploy the template as it is, with DeletionProtection by size: nothing else keeps the places of visitors",
    )
}

/// Whether a lost Redis is restored in one run of the promoter.
pub(super) fn restore_finding(entries: &Answer<TableAnswer>) -> Finding {
    const CHECK: &str = "restore-time";
    let table = match entries {
        Ok(table) => table,
        Err(reason) => return unanswered(CHECK, reason, RIGHTS),
    };
    let seconds = restore_seconds(table);
    let found = format!(
        "a restore of {} records, all that the table had some hours ago, takes about {seconds:.0} s by the benchmark",
        table.items
    );
    if seconds > RUN_SECONDS {
        Finding::fault(
            CHECK,
            found,
            "delete the queues of former sales or wait for the time to live of their entries, and raise EntriesWarmReadUnits: a \
             restore must end within a run of the promoter, 60 s",
        )
    } else {
        Finding::ok(CHECK, found)
    }
}

/// The time to read all entries, or to process them, whichever is longer.
#[allow(clippy::cast_precision_loss)]
fn restore_seconds(table: &TableAnswer) -> f64 {
    let items = table.items as f64;
    let reads = f64::from(table.warm_reads.unwrap_or(NEW_TABLE_READS.whole()).max(1));
    (items / RESTORE_ENTRIES_PER_READ.value / reads).max(items * RESTORE_SECONDS_PER_ENTRY.value)
}
