//! What becomes of the journal: the backup has it, refuses it, or comes to a part of it.

use vestibule_domain::{
    change::{Change, VisitEnd},
    id::QueueId,
};
use vestibule_line::{Line, RequeueOrder};
use vestibule_tests::lines::visitor;

use crate::{
    ops::Op,
    pair::{WHOLE_JOURNAL, text},
};

/// Does it, and gives the answer as text. `record` is the change to record, where one is.
pub(crate) async fn act(line: &dyn Line, queue: &QueueId, op: &Op, record: Option<&Change>) -> String {
    match op {
        Op::Settle { records, ended, late } => {
            let oldest = line.due_journal_records(queue, *records).await.expect("journal");
            let keys: Vec<_> = oldest.into_iter().map(|record| record.key).collect();
            let mut version = line.queue_view(queue).await.expect("a view").version;
            version.v -= if *late { 3_600_000_000 } else { 0 };
            let ending = |number| VisitEnd {
                id: visitor(number),
                version,
            };
            let ended: Vec<_> = ended.iter().copied().map(ending).collect();
            text(line.acknowledge(queue, &keys, &ended).await)
        }
        Op::Record(..) => text(line.append_to_journal(queue, record.expect("made for it")).await),
        Op::Defer {
            record,
            tries,
            wait_ms,
        } => {
            let due = line
                .due_journal_records(queue, WHOLE_JOURNAL)
                .await
                .expect("journal");
            let Some(record) = due.into_iter().nth(*record) else {
                return String::new();
            };
            let mut changes = record.changes;
            changes.sort_by_key(|change| change.id);
            let every_third = |from: usize| changes.iter().copied().skip(from).step_by(3).collect();
            let deferral = RequeueOrder {
                key: record.key,
                untried: every_third(1),
                rejected: every_third(2),
                attempts: *tries,
                backoff_ms: *wait_ms,
            };
            text(line.requeue_with_backoff(queue, &deferral).await)
        }
        Op::SetAside(record) => {
            let due = line
                .due_journal_records(queue, WHOLE_JOURNAL)
                .await
                .expect("journal");
            match due.get(*record) {
                Some(record) => text(line.dead_letter(queue, &record.key).await),
                None => text(line.dead_letter(queue, "1-1").await),
            }
        }
        Op::SettleAside(records) => {
            let aside = line.dead_lettered(queue, *records).await.expect("read");
            let keys: Vec<_> = aside.into_iter().map(|record| record.key).collect();
            text(line.acknowledge(queue, &keys, &[]).await)
        }
        _ => unreachable!("nothing of the journal"),
    }
}
