//! What the queue under test has for the backup.

use vestibule_domain::{change::Change, id::EntryId};
use vestibule_line::{Cursor, JournalRecord};

use super::Subject;

impl Subject {
    /// All journal records that are due.
    pub async fn journal(&self) -> Vec<JournalRecord> {
        self.line
            .due_journal_records(&self.queue, 10_000)
            .await
            .expect("journal")
    }

    /// Acknowledges the whole journal and the unsettled ends of these entries, as if the backup had all of them.
    pub async fn acknowledge_journal(&self, ended: &[EntryId]) {
        let keys: Vec<_> = self
            .journal()
            .await
            .into_iter()
            .map(|record| record.key)
            .collect();
        let settled: Vec<_> = self
            .unsettled_ends()
            .await
            .iter()
            .filter(|end| ended.contains(&end.id))
            .filter_map(Change::visit_end)
            .collect();
        self.line
            .acknowledge(&self.queue, &keys, &settled)
            .await
            .expect("acknowledge");
    }

    /// The ends that the backup may not have yet.
    pub async fn unsettled_ends(&self) -> Vec<Change> {
        let mut ends = Vec::new();
        let mut next = Some(Cursor::default());
        while let Some(from) = next {
            let page = self.line.read_page(&self.queue, &from).await.expect("read_page");
            ends.extend(page.ends);
            next = page.next;
        }
        ends
    }
}
