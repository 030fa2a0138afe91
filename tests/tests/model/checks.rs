//! What a check asks of both lines.

use std::collections::BTreeMap;

use vestibule_domain::{
    change::Change, entry_status::StoredPosition, id::EntryId, score::DeadlineScore, state::EntryState,
};
use vestibule_line::{Cursor, Line, RepairOrder};
use vestibule_tests::lines::visitor;

use crate::{
    ops::Op,
    pair::{Made, Pair, WHOLE_JOURNAL, text},
};

impl Pair {
    /// Does it, and gives the answer as text.
    pub(crate) async fn check(&self, line: &dyn Line, op: &Op, made: &Made) -> String {
        let queue = &self.queue;
        match op {
            Op::Pages => text((self.pages(line).await, self.whole_journal(line).await)),
            Op::TakeCheck(order) => text(line.take_check(queue, *order).await),
            Op::NoteCheck(shards) => text(line.record_check_progress(queue, *shards).await),
            _ => match &made.mending {
                Some(mending) => text(line.repair(queue, mending).await),
                None => String::new(),
            },
        }
    }

    /// Every change of the whole journal, due or not, in no order.
    async fn whole_journal(&self, line: &dyn Line) -> Vec<Change> {
        let whole = line.journal_records(&self.queue, WHOLE_JOURNAL).await;
        let records = whole.expect("the whole journal").into_iter();
        let mut changes: Vec<_> = records.flat_map(|record| record.changes).collect();
        changes.sort_by_key(|change| (change.version, change.id));
        changes
    }

    /// Every entry of every page.
    pub(crate) async fn pages(
        &self,
        line: &dyn Line,
    ) -> (BTreeMap<EntryId, StoredPosition>, BTreeMap<EntryId, Change>) {
        let (mut spots, mut ends) = (BTreeMap::new(), BTreeMap::new());
        let mut next = Some(Cursor::default());
        while let Some(from) = next {
            let page = line.read_page(&self.queue, &from).await.expect("a page");
            spots.extend(page.positions);
            ends.extend(page.ends.into_iter().map(|end| (end.id, end)));
            next = page.next;
        }
        (spots, ends)
    }

    /// What a check may find of an entry; `None` where it stands nowhere.
    pub(crate) async fn mending(&self, op: &Op) -> Option<RepairOrder> {
        let Op::Mend {
            visitor: number,
            state,
            same_visit,
            as_seen,
            end_ms_from_now,
        } = op
        else {
            return None;
        };
        let id = visitor(*number);
        let seen = *self.pages(&self.memory).await.0.get(&id)?;
        let mut record = self.old_record(*number, 0);
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
            observed: if *as_seen {
                seen
            } else {
                StoredPosition::Active(elsewhere)
            },
            generation: 1,
            record: record.filter(|_| *state < EntryState::ALL.len()),
        })
    }
}
