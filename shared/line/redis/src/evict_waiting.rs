//! Evicts many waiting entries: sends `evict_waiting.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{EVICT_CHUNK, EvictOrder, LineError};

use super::{RedisLine, script::LuaScript};

pub(super) static EVICT_WAITING: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("evict_waiting", include_str!("evict_waiting.lua")));

pub(super) async fn evict_waiting(
    line: &RedisLine,
    queue: &QueueId,
    order: &EvictOrder,
) -> Result<u64, LineError> {
    debug_assert!(
        order.visits.len() <= EVICT_CHUNK,
        "the script unpacks all entries"
    );
    let pairs = order
        .visits
        .iter()
        .flat_map(|(id, visit)| [id.to_member(), visit.number().to_string()]);
    let call = line
        .begin_call(&EVICT_WAITING, queue)
        .arg(line.journal_limits.all_changes)
        .arg(u8::from(order.spares_checked_in))
        .args(pairs);
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "evicted" => reply.read_number(),
        "journal-full" => Err(LineError::JournalFull),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
