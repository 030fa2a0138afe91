//! The operations of the consistency check.

use std::collections::BTreeMap;

use vestibule_domain::{change::Change, entry_status::StoredEntry, id::EntryId};
use vestibule_line::Cursor;

use crate::{
    checked_line::{CheckedLine, JOURNAL_RECORDS_MAX, to_text},
    operations::Operation,
};

impl CheckedLine {
    /// Runs the operation and returns the answer as text.
    pub(crate) async fn run_check_operation(&self, op: &Operation) -> String {
        let (line, queue) = (&self.line, &self.queue);
        match op {
            Operation::ReadPages => to_text((self.read_all_pages().await, self.read_journal().await)),
            Operation::TakeCheck(order) => to_text(line.take_check(queue, *order).await),
            Operation::RecordCheckProgress(shards) => {
                to_text(line.record_check_progress(queue, *shards).await)
            }
            _ => unreachable!("{op:?} is no operation of the check"),
        }
    }

    /// All changes of the journal, due or not, sorted.
    async fn read_journal(&self) -> Vec<Change> {
        let whole = self.line.journal_records(&self.queue, JOURNAL_RECORDS_MAX).await;
        let records = whole.expect("the whole journal").into_iter();
        let mut changes: Vec<_> = records.flat_map(|record| record.changes).collect();
        changes.sort_by_key(|change| (change.version, change.id));
        changes
    }

    /// All entries of all pages.
    pub(crate) async fn read_all_pages(&self) -> (BTreeMap<EntryId, StoredEntry>, BTreeMap<EntryId, Change>) {
        let (mut entries, mut ends) = (BTreeMap::new(), BTreeMap::new());
        let mut next = Some(Cursor::default());
        while let Some(from) = next {
            let page = self.line.read_page(&self.queue, &from).await.expect("a page");
            entries.extend(page.entries);
            ends.extend(page.ends.into_iter().map(|end| (end.id, end)));
            next = page.next;
        }
        (entries, ends)
    }
}
