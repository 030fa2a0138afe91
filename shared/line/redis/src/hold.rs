//! Counts held polls in and out: sends `hold.lua` and `release.lua`.

use std::sync::LazyLock;

use vestibule_domain::{id::EntryId, poll_pacing::HOLD_LEASE_MAX_MS};
use vestibule_line::{HoldOrder, HoldOutcome, LineError};

use super::{RedisLine, keys::holds_key, script::LuaScript};

pub(super) static TAKE_HOLD: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("hold", include_str!("hold.lua")));
pub(super) static RELEASE_HOLDS: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("release", include_str!("release.lua")));

/// The most entries that one call releases, because Lua's `unpack` takes a limited number of values.
const RELEASE_CHUNK: usize = 1_000;

pub(super) async fn take_hold(line: &RedisLine, order: &HoldOrder<'_>) -> Result<HoldOutcome, LineError> {
    let call = TAKE_HOLD
        .call_with_keys([holds_key(order.deployment)])
        .arg(line.given_us())
        .arg(order.id.to_member())
        .arg(order.below)
        .arg(order.lease_ms)
        .arg(HOLD_LEASE_MAX_MS);
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "counted" => Ok(HoldOutcome::Counted {
            held: reply.read_number()?,
        }),
        "full" => Ok(HoldOutcome::Full),
        "already-held" => Ok(HoldOutcome::AlreadyHeld),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}

pub(super) async fn release_holds(
    line: &RedisLine,
    deployment: &str,
    ids: &[EntryId],
) -> Result<(), LineError> {
    for ids in ids.chunks(RELEASE_CHUNK) {
        let members = ids.iter().map(|id| id.to_member());
        let call = RELEASE_HOLDS
            .call_with_keys([holds_key(deployment)])
            .args(members);
        call.send(line).await?;
    }
    Ok(())
}
