//! Reads the unflushed changes of a dropped queue. Nothing adds to them any more, so plain commands are
//! enough.

use vestibule_domain::{change::Change, id::QueueId};

use super::{
    Line, connect::Request, end, journal_records::read_all_records, keys::Keys, reply::parse_entry_id,
};
use crate::{LineError, UnflushedChanges};

/// The number of ends in one read. Redis serves no other command during a read, so this bounds the
/// wait of other callers.
const PAGE_ENDS: usize = 1_000;

impl Line {
    /// Returns the unflushed changes of a dropped queue: at most `records_max` journal records and
    /// at most `records_max` ends. [`acknowledge`](crate::Line::acknowledge) removes them.
    pub async fn unflushed(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<UnflushedChanges, LineError> {
        let keys = Keys::new(queue);
        let mut find = redis::cmd("HMGET");
        find.arg(keys.key("lost")).arg(&["epoch", "generation"]);
        let (epoch, generation): (Option<u32>, Option<u32>) =
            self.connection.send(Request::Command(&find)).await?;
        if epoch.is_none() {
            return Err(LineError::QueueNotFound);
        }
        Ok(UnflushedChanges {
            generation,
            records: read_all_records(self, queue, records_max).await?,
            ends: read_unsettled_ends(self, &keys, records_max).await?,
        })
    }
}

/// Reads the ends that the backup may not have, at most `ends_max`.
async fn read_unsettled_ends(
    line: &Line,
    keys: &Keys<'_>,
    ends_max: usize,
) -> Result<Vec<Change>, LineError> {
    let (mut ends, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let mut scan = redis::cmd("HSCAN");
        scan.arg(keys.key("ended"))
            .arg(&after)
            .arg("COUNT")
            .arg(PAGE_ENDS);
        let (next, found): (String, Vec<(String, String)>) =
            line.connection.send(Request::Command(&scan)).await?;
        for chunk in found.chunks(PAGE_ENDS) {
            ends.extend(read_unsettled(line, keys, chunk).await?);
        }
        if next == "0" || ends.len() >= ends_max {
            ends.truncate(ends_max);
            return Ok(ends);
        }
        after = next;
    }
}

/// Parses those of the ends that are not settled.
async fn read_unsettled(
    line: &Line,
    keys: &Keys<'_>,
    ends: &[(String, String)],
) -> Result<Vec<Change>, LineError> {
    let mut find = redis::cmd("ZMSCORE");
    find.arg(keys.key("settled"));
    for (member, _) in ends {
        find.arg(member);
    }
    let settled: Vec<Option<String>> = line.connection.send(Request::Command(&find)).await?;
    let unsettled = ends.iter().zip(settled).filter(|(_, settled)| settled.is_none());
    Ok(unsettled
        .filter_map(|((member, text), _)| parse_unsettled(keys.queue, member, text))
        .collect())
}

fn parse_unsettled(queue: &QueueId, member: &str, text: &str) -> Option<Change> {
    parse_entry_id(member)
        .and_then(|id| end::parse_end(id, text))
        .inspect_err(|error| {
            tracing::warn!(
                event = "entry.end_skipped", %queue, %error,
                "skipped an end of a dropped queue that cannot be read; the backup does not receive it"
            );
        })
        .ok()
}
