//! Reads the unflushed changes of a dropped queue. Nothing adds to them any more, so plain commands are
//! enough.

use redis::streams::StreamRangeReply;
use vestibule_domain::id::QueueId;
use vestibule_line::{LineError, UnflushedChanges};

use super::{
    RedisLine,
    connect::{CallLink, to_line_error},
    end, journal,
    keys::Keys,
    reply::parse_entry_id,
};

/// The reply: epoch and generation of the dropped queue, its journal, and its members with their ends.
type RawUnflushed = (
    (Option<u32>, Option<u32>),
    StreamRangeReply,
    Vec<(String, String)>,
);

pub(super) async fn unflushed(
    line: &RedisLine,
    queue: &QueueId,
    records_max: usize,
) -> Result<UnflushedChanges, LineError> {
    let keys = Keys::new(queue);
    let mut pipeline = redis::pipe();
    pipeline
        .cmd("HMGET")
        .arg(keys.key("lost"))
        .arg(&["epoch", "generation"])
        .cmd("XRANGE")
        .arg(keys.key("journal"))
        .arg(&["-", "+", "COUNT"])
        .arg(records_max)
        .cmd("HRANDFIELD")
        .arg(keys.key("ended"))
        .arg(records_max)
        .arg("WITHVALUES");
    let send = async |mut link: CallLink| {
        pipeline
            .query_async::<RawUnflushed>(&mut link)
            .await
            .map_err(to_line_error)
    };
    let ((epoch, generation), records, ends) = line.connection.call(send).await?;
    if epoch.is_none() {
        return Err(LineError::QueueNotFound);
    }
    let records = records.ids.into_iter();
    let records = records
        .map(|record| journal::parse_record(record.id, record.map))
        .collect();
    let ends = ends.into_iter().filter_map(|(member, text)| {
        parse_entry_id(&member)
            .and_then(|id| end::parse_end(id, &text))
            .inspect_err(|error| {
                tracing::warn!(
                    event = "entry.end_skipped", %queue, %error,
                    "skipped an end of a dropped queue that cannot be read; the backup does not receive it"
                );
            })
            .ok()
    });
    Ok(UnflushedChanges {
        generation,
        records,
        ends: ends.collect(),
    })
}
