//! Reads the journal: an outbox of changes that the backup does not have yet.

use std::collections::HashMap;

use redis::streams::StreamRangeReply;
use vestibule_domain::id::QueueId;
use vestibule_line::{JournalRecord, LineError};

use super::{
    RedisLine, connect::Request, journal_encoding::decode_record, keys::Keys, reply::Fields,
    restore::read_server_time_us,
};

/// A read of the journal ends after it skipped this many records that are not due yet.
const SKIPPED_MAX: usize = 1_000;

pub(super) async fn read_due_records(
    line: &RedisLine,
    queue: &QueueId,
    records_max: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let (mut due, mut passed_over) = (Vec::new(), 0);
    let (mut from, mut clock_ms) = ("-".to_owned(), None);
    loop {
        let page = read_records(line, queue, "journal", &from, records_max).await?;
        let is_last = page.len() < records_max || records_max == 0;
        for record in page {
            from = format!("({}", record.key);
            if record.retry_at_ms > 0 {
                let now_ms = match clock_ms {
                    Some(now_ms) => now_ms,
                    None => *clock_ms.insert(read_server_time_us(line).await? / 1_000),
                };
                if record.retry_at_ms > now_ms {
                    passed_over += 1;
                    continue;
                }
            }
            due.push(record);
            if due.len() == records_max {
                return Ok(due);
            }
        }
        if is_last || passed_over >= SKIPPED_MAX {
            return Ok(due);
        }
    }
}

/// Reads at most `records_max` records of a stream, from the id `from` on, due or not.
pub(super) async fn read_records(
    line: &RedisLine,
    queue: &QueueId,
    stream: &str,
    from: &str,
    records_max: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let (stream, config) = (Keys::new(queue).key(stream), Keys::new(queue).key("config"));
    let mut pipeline = redis::pipe();
    pipeline
        .cmd("XRANGE")
        .arg(stream)
        .arg(&[from, "+", "COUNT"])
        .arg(records_max)
        .cmd("EXISTS")
        .arg(config);
    let (records, queue_exists): (StreamRangeReply, bool) =
        line.connection.send(Request::Pipeline(&pipeline)).await?;
    if !queue_exists {
        return Err(LineError::QueueNotFound);
    }
    let records = records.ids.into_iter();
    Ok(records
        .map(|record| parse_record(record.id, record.map))
        .collect())
}

/// Parses one record of a stream. If that fails, the record carries the error in `unreadable`, so that the
/// other records are still read.
pub(super) fn parse_record(key: String, map: HashMap<String, redis::Value>) -> JournalRecord {
    let mut record = JournalRecord {
        key,
        changes: Vec::new(),
        attempts: 0,
        retry_at_ms: 0,
        parse_error: None,
    };
    let read = read_fields(map).and_then(|fields| fill_record(&mut record, &fields));
    record.parse_error = read.err().map(|error| error.to_string());
    record
}

fn read_fields(map: HashMap<String, redis::Value>) -> Result<Fields, LineError> {
    let read_text = |value| {
        redis::from_redis_value::<String>(value)
            .map_err(|_| LineError::Protocol("a journal record has a value that is no text".to_owned()))
    };
    let fields = map
        .into_iter()
        .map(|(field, value)| Ok((field, read_text(value)?)))
        .collect::<Result<_, LineError>>()?;
    Ok(Fields::new("a journal record", fields))
}

fn fill_record(record: &mut JournalRecord, fields: &Fields) -> Result<(), LineError> {
    let changes = decode_record(fields)?;
    if fields.has("tries") {
        (record.attempts, record.retry_at_ms) = (fields.number("tries")?, fields.number("retry_at_ms")?);
    }
    record.changes = changes;
    Ok(())
}
