//! What must hold between the journal and the hash that finds its records.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use redis::streams::StreamRangeReply;
use vestibule_domain::change::Change;

use super::{CheckedLine, JOURNAL_RECORDS_MAX, to_text};

impl CheckedLine {
    /// All records can be read, and none has two changes of one entry.
    pub(super) async fn require_readable_journal(&self) -> Result<(), String> {
        let [all, due, dead] = [
            self.line.journal_records(&self.queue, JOURNAL_RECORDS_MAX).await,
            self.line
                .due_journal_records(&self.queue, JOURNAL_RECORDS_MAX)
                .await,
            self.line.dead_lettered(&self.queue, JOURNAL_RECORDS_MAX).await,
        ];
        for record in [all, due, dead] {
            for record in record.map_err(to_text)? {
                let mut ids: Vec<_> = record.changes.iter().map(|change: &Change| change.id).collect();
                ids.sort_unstable();
                if ids.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(format!("twice in one record: {record:?}"));
                }
            }
        }
        Ok(())
    }

    /// The hash `journaled` points at records that exist, and each record of a single change is in it.
    pub(super) async fn require_consistent_slots(&self) -> Result<(), String> {
        let key = |name: &str| format!("vestibule:{{{}}}:{name}", self.queue);
        let mut pipe = redis::pipe();
        pipe.hgetall(key("journaled"))
            .zrange(key("deferred"), 0, -1)
            .xrange_all(key("journal"));
        let answer = pipe.query_async(&mut self.link.clone()).await;
        let (slots, deferred, stream): (BTreeMap<String, String>, Vec<String>, StreamRangeReply) =
            answer.expect("Redis answers");
        let singles = stream
            .ids
            .iter()
            .filter(|record| record.map.contains_key("member"));
        let mut ids: Vec<_> = singles.map(|record| record.id.clone()).collect();
        let (in_stream, texts): (Vec<_>, Vec<_>) = slots.iter().partition(|(_, text)| !text.contains(' '));
        let mut in_stream: Vec<_> = in_stream.into_iter().map(|(_, id)| id.clone()).collect();
        ids.sort();
        in_stream.sort();
        require_equal("single changes and their slots", &ids, &in_stream)?;
        let texts: BTreeSet<_> = texts.into_iter().map(|(slot, _)| slot.clone()).collect();
        require_equal(
            "deferred changes and their slots",
            &deferred.into_iter().collect(),
            &texts,
        )
    }
}

fn require_equal<T: PartialEq + Debug>(what: &str, one: &T, other: &T) -> Result<(), String> {
    if one == other {
        Ok(())
    } else {
        Err(format!("the {what} differ\n  {one:?}\n  {other:?}"))
    }
}
