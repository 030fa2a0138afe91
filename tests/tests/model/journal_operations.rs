//! The operations of the journal: the backup accepts a record, rejects it, or accepts a part of it.

use vestibule_domain::{change::Change, id::QueueId};
use vestibule_line::{JournalRecord, Line, LineError, RequeueOrder};

use crate::{
    checked_line::{JOURNAL_RECORDS_MAX, OperationInput},
    operations::Operation,
};

/// Runs the operation. Returns the changes that the backup accepts.
pub(crate) async fn run_operation(
    line: &Line,
    queue: &QueueId,
    op: &Operation,
    input: &OperationInput,
) -> Result<Vec<Change>, LineError> {
    match op {
        Operation::Acknowledge { records, .. } => {
            let oldest = line.due_journal_records(queue, *records).await?;
            line.acknowledge(queue, &keys(&oldest), &input.ends).await?;
            Ok(changes(oldest))
        }
        Operation::AppendToJournal(..) => {
            let change = input.change.as_ref().expect("the operation has a change");
            line.append_to_journal(queue, change).await?;
            Ok(Vec::new())
        }
        Operation::Requeue {
            record,
            tries,
            wait_ms,
        } => {
            let due = line.due_journal_records(queue, JOURNAL_RECORDS_MAX).await?;
            let Some(record) = due.into_iter().nth(*record) else {
                return Ok(Vec::new());
            };
            let mut changes = record.changes;
            changes.sort_by_key(|change| change.id);
            let every_third = |from: usize| changes.iter().copied().skip(from).step_by(3).collect();
            let order = RequeueOrder {
                key: record.key,
                untried: every_third(1),
                rejected: every_third(2),
                attempts: *tries,
                backoff_ms: *wait_ms,
            };
            line.requeue_with_backoff(queue, &order).await?;
            Ok(every_third(0))
        }
        Operation::DeadLetter(record) => {
            let due = line.due_journal_records(queue, JOURNAL_RECORDS_MAX).await?;
            let key = due.get(*record).map_or("1-1", |record| &record.key);
            line.dead_letter(queue, key).await?;
            Ok(Vec::new())
        }
        Operation::AcknowledgeDeadLetters(records) => {
            let aside = line.dead_lettered(queue, *records).await?;
            line.acknowledge(queue, &keys(&aside), &[]).await?;
            Ok(changes(aside))
        }
        _ => unreachable!("{op:?} is no operation of the journal"),
    }
}

fn keys(records: &[JournalRecord]) -> Vec<String> {
    records.iter().map(|record| record.key.clone()).collect()
}

fn changes(records: Vec<JournalRecord>) -> Vec<Change> {
    records.into_iter().flat_map(|record| record.changes).collect()
}
