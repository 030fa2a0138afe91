//! The operations of the journal: the backup accepts a record, rejects it, or accepts a part of it.

use vestibule_domain::id::QueueId;
use vestibule_line::{Line, RequeueOrder};

use crate::{
    checked_line::{JOURNAL_RECORDS_MAX, OperationInput, to_text},
    operations::Operation,
};

/// Runs the operation and returns the answer as text.
pub(crate) async fn run_operation(
    line: &Line,
    queue: &QueueId,
    op: &Operation,
    input: &OperationInput,
) -> String {
    match op {
        Operation::Acknowledge { records, .. } => {
            let oldest = line.due_journal_records(queue, *records).await.expect("journal");
            let keys: Vec<_> = oldest.into_iter().map(|record| record.key).collect();
            to_text(line.acknowledge(queue, &keys, &input.ends).await)
        }
        Operation::AppendToJournal(..) => to_text(
            line.append_to_journal(queue, input.change.as_ref().expect("the operation has a change"))
                .await,
        ),
        Operation::Requeue {
            record,
            tries,
            wait_ms,
        } => {
            let due = line
                .due_journal_records(queue, JOURNAL_RECORDS_MAX)
                .await
                .expect("journal");
            let Some(record) = due.into_iter().nth(*record) else {
                return String::new();
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
            to_text(line.requeue_with_backoff(queue, &order).await)
        }
        Operation::DeadLetter(record) => {
            let due = line
                .due_journal_records(queue, JOURNAL_RECORDS_MAX)
                .await
                .expect("journal");
            match due.get(*record) {
                Some(record) => to_text(line.dead_letter(queue, &record.key).await),
                None => to_text(line.dead_letter(queue, "1-1").await),
            }
        }
        Operation::AcknowledgeDeadLetters(records) => {
            let aside = line
                .dead_lettered(queue, *records)
                .await
                .expect("the dead letters are read");
            let keys: Vec<_> = aside.into_iter().map(|record| record.key).collect();
            to_text(line.acknowledge(queue, &keys, &[]).await)
        }
        _ => unreachable!("{op:?} is no operation of the journal"),
    }
}
