//! The operations of the consistency check on both lines.

use std::collections::BTreeMap;

use vestibule_domain::{
    change::Change, entry_status::StoredPosition, id::EntryId, score::DeadlineScore, state::EntryState,
};
use vestibule_line::{Cursor, Line, RepairOrder};
use vestibule_tests::lines::visitor;

use crate::{
    line_pair::{JOURNAL_RECORDS_MAX, LinePair, OperationInput, to_text},
    operations::Operation,
};

impl LinePair {
    /// Runs the operation and returns the answer as text.
    pub(crate) async fn run_check_operation(
        &self,
        line: &dyn Line,
        op: &Operation,
        input: &OperationInput,
    ) -> String {
        let queue = &self.queue;
        match op {
            Operation::ReadPages => to_text((self.read_all_pages(line).await, self.read_journal(line).await)),
            Operation::TakeCheck(order) => to_text(line.take_check(queue, *order).await),
            Operation::RecordCheckProgress(shards) => {
                to_text(line.record_check_progress(queue, *shards).await)
            }
            _ => match &input.repair {
                Some(repair) => to_text(line.repair(queue, repair).await),
                None => String::new(),
            },
        }
    }

    /// All changes of the journal, due or not, sorted.
    async fn read_journal(&self, line: &dyn Line) -> Vec<Change> {
        let whole = line.journal_records(&self.queue, JOURNAL_RECORDS_MAX).await;
        let records = whole.expect("the whole journal").into_iter();
        let mut changes: Vec<_> = records.flat_map(|record| record.changes).collect();
        changes.sort_by_key(|change| (change.version, change.id));
        changes
    }

    /// All entries of all pages.
    pub(crate) async fn read_all_pages(
        &self,
        line: &dyn Line,
    ) -> (BTreeMap<EntryId, StoredPosition>, BTreeMap<EntryId, Change>) {
        let (mut positions, mut ends) = (BTreeMap::new(), BTreeMap::new());
        let mut next = Some(Cursor::default());
        while let Some(from) = next {
            let page = line.read_page(&self.queue, &from).await.expect("a page");
            positions.extend(page.positions);
            ends.extend(page.ends.into_iter().map(|end| (end.id, end)));
            next = page.next;
        }
        (positions, ends)
    }

    /// The repair that a consistency check may order for the entry. `None` if the entry is not in the line.
    pub(crate) async fn build_repair(&self, op: &Operation) -> Option<RepairOrder> {
        let Operation::Repair {
            visitor: number,
            state,
            same_visit,
            as_observed,
            end_ms_from_now,
        } = op
        else {
            return None;
        };
        let id = visitor(*number);
        let seen = *self.read_all_pages(&self.memory).await.0.get(&id)?;
        let mut record = self.build_old_record(*number, 0);
        if let Some(record) = &mut record {
            if *same_visit {
                record.visit = seen.visit();
                record.score = match seen {
                    StoredPosition::Waiting(score) => Some(score),
                    StoredPosition::Ready(_) | StoredPosition::Active(_) => None,
                };
            }
            record.expires_at_ms = Some(self.clock.now_ms().saturating_add_signed(*end_ms_from_now));
            record.state = *EntryState::ALL.get(*state).unwrap_or(&EntryState::Waiting);
        }
        let elsewhere = DeadlineScore::new(self.clock.now_ms(), seen.visit());
        Some(RepairOrder {
            id,
            observed: if *as_observed {
                seen
            } else {
                StoredPosition::Active(elsewhere)
            },
            generation: 1,
            record: record.filter(|_| *state < EntryState::ALL.len()),
        })
    }
}
