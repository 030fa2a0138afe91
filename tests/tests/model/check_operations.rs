//! The operations of the consistency check.

use std::collections::BTreeMap;

use vestibule_domain::{change::Change, entry_status::StoredEntry, id::EntryId};
use vestibule_line::{Cursor, LineError};

use crate::{checked_line::CheckedLine, operations::Operation};

impl CheckedLine {
    /// Runs the operation.
    pub(crate) async fn run_check_operation(&self, op: &Operation) -> Result<(), LineError> {
        let (line, queue) = (&self.line, &self.queue);
        match op {
            Operation::ReadPages => {
                self.read_all_pages().await;
                Ok(())
            }
            Operation::TakeCheck(order) => line.take_check(queue, *order).await.map(drop),
            Operation::RecordCheckProgress(shards) => {
                line.record_check_progress(queue, *shards).await.map(drop)
            }
            _ => unreachable!("{op:?} is no operation of the check"),
        }
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
