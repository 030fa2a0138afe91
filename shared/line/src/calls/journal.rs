//! Reads the journal: an outbox of changes that the backup does not have yet.

use std::collections::HashMap;

use redis::streams::StreamRangeReply;
use vestibule_domain::id::QueueId;

use super::{Line, connect::Request, fields::Fields, journal_encoding::decode_record, keys::Keys};
use crate::{JournalRecord, LineError};

/// A read returns no further record after this many bytes of fields and values. Redis serves no other
/// command during a read, and the reader holds all of it in memory.
pub(super) const RECORDS_BYTES_MAX: usize = 1 << 20;

/// How much of a stream one command and one read return. Redis serves no other command during a command.
pub(super) struct ReadLimits {
    /// The number of records in one command.
    records_per_command: usize,
    /// A read sends no further command after this many bytes of values.
    bytes: usize,
}

/// Records of ticks may have 50 kB each.
pub(super) const JOURNAL_LIMITS: ReadLimits = ReadLimits {
    records_per_command: 20,
    bytes: RECORDS_BYTES_MAX,
};
/// Nearly all dead letters have one change each, and the line keeps few of them.
pub(super) const DEAD_LETTER_LIMITS: ReadLimits = ReadLimits {
    records_per_command: 1_000,
    bytes: usize::MAX,
};

/// Reads the oldest records of a stream, due or not, at most `records_max`, within the limits.
pub(super) async fn read_records(
    line: &Line,
    queue: &QueueId,
    stream: &str,
    records_max: usize,
    limits: &ReadLimits,
) -> Result<Vec<JournalRecord>, LineError> {
    let (mut records, mut bytes, mut from) = (Vec::new(), 0, "-".to_owned());
    while records.len() < records_max && bytes < limits.bytes {
        let count = limits.records_per_command.min(records_max - records.len());
        let (page, page_bytes) = read_page(line, queue, stream, &from, count).await?;
        let is_last = page.len() < count;
        bytes += page_bytes;
        records.extend(page);
        match records.last() {
            Some(last) if !is_last => from = format!("({}", last.key),
            _ => break,
        }
    }
    Ok(records)
}

/// Reads records from the id `from` on. The second value is the number of bytes of their values.
async fn read_page(
    line: &Line,
    queue: &QueueId,
    stream: &str,
    from: &str,
    count: usize,
) -> Result<(Vec<JournalRecord>, usize), LineError> {
    let mut read = redis::cmd("XRANGE");
    read.arg(Keys::new(queue).key(stream))
        .arg(&[from, "+", "COUNT"])
        .arg(count);
    let found: StreamRangeReply = line.connection.send(Request::Command(&read)).await?;
    let values = found.ids.iter().flat_map(|record| record.map.values());
    let bytes = values
        .map(|value| match value {
            redis::Value::BulkString(text) => text.len(),
            _ => 0,
        })
        .sum();
    Ok((parse_records(found), bytes))
}

/// Reads the oldest deferred records: changes that the backup refused, and that are to be tried
/// again later. Their keys get the prefix `deferred:`, by which `acknowledge.lua` tells them from
/// the records of the stream.
pub(super) async fn read_deferred(
    line: &Line,
    queue: &QueueId,
    records_max: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let Some(last) = records_max.checked_sub(1) else {
        return Ok(Vec::new());
    };
    let keys = Keys::new(queue);
    let mut range = redis::cmd("ZRANGE");
    range.arg(keys.key("deferred")).arg(0).arg(last);
    let fields: Vec<String> = line.connection.send(Request::Command(&range)).await?;
    if fields.is_empty() {
        return Ok(Vec::new());
    }
    let mut get = redis::cmd("HMGET");
    get.arg(keys.key("journaled")).arg(&fields);
    let texts: Vec<Option<String>> = line.connection.send(Request::Command(&get)).await?;
    // A record that is due again since the first command is in the stream now.
    let texts = texts
        .into_iter()
        .map(|text| text.filter(|text| text.contains(' ')));
    let found = fields.into_iter().zip(texts);
    Ok(found
        .filter_map(|(field, text)| {
            let text = text?;
            let words: Vec<_> = text.split(' ').collect();
            let pairs = words.as_chunks::<2>().0.iter();
            let map = pairs.map(|[name, value]| ((*name).to_owned(), (*value).to_owned()));
            Some(parse_fields(format!("deferred:{field}"), Ok(map.collect())))
        })
        .collect())
}

/// Parses the records of a stream. If that fails for a record, it carries the error in
/// `parse_error`, so that the other records are still read.
pub(super) fn parse_records(found: StreamRangeReply) -> Vec<JournalRecord> {
    let records = found.ids.into_iter();
    records
        .map(|record| parse_fields(record.id, read_texts(record.map)))
        .collect()
}

fn read_texts(map: HashMap<String, redis::Value>) -> Result<HashMap<String, String>, LineError> {
    let read_text = |value| {
        redis::from_redis_value::<String>(value)
            .map_err(|_| LineError::Protocol("a journal record has a value that is no text".to_owned()))
    };
    map.into_iter()
        .map(|(field, value)| Ok((field, read_text(value)?)))
        .collect()
}

fn parse_fields(key: String, texts: Result<HashMap<String, String>, LineError>) -> JournalRecord {
    let mut record = JournalRecord {
        key,
        changes: Vec::new(),
        attempts: 0,
        retry_at_ms: 0,
        parse_error: None,
    };
    let fields = texts.map(|texts| Fields::new("a journal record", texts));
    let read = fields.and_then(|fields| fill_record(&mut record, &fields));
    record.parse_error = read.err().map(|error| error.to_string());
    record
}

fn fill_record(record: &mut JournalRecord, fields: &Fields) -> Result<(), LineError> {
    let changes = decode_record(fields)?;
    if fields.has("tries") {
        (record.attempts, record.retry_at_ms) = (fields.number("tries")?, fields.number("retry_at_ms")?);
    }
    record.changes = changes;
    Ok(())
}
