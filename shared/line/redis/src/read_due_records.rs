//! Reads the journal records that are due: sends `read_due_records.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{JournalRecord, LineError};

use super::{
    RedisLine,
    journal::{RECORDS_BYTES_MAX, parse_records},
    script::LuaScript,
};

pub(super) static READ_DUE_RECORDS: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("read_due_records", include_str!("read_due_records.lua")));

pub(super) async fn read_due_records(
    line: &RedisLine,
    queue: &QueueId,
    records_max: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let call = line.begin_call(&READ_DUE_RECORDS, queue);
    let mut reply = call.arg(records_max).arg(RECORDS_BYTES_MAX).send(line).await?;
    let records = redis::from_redis_value(reply.next_value()?)
        .map_err(|_| reply.protocol_error("records of a stream"))?;
    Ok(parse_records(records))
}
