//! Counts held polls in and out: sends `hold.lua` and `release.lua`.

use std::sync::LazyLock;

use vestibule_domain::{id::EntryId, pacing::HOLD_LEASE_MS_MAX};
use vestibule_line::{HoldOrder, Holding, LineError};

use super::{RedisLine, keys::holds, script::Command};

pub(super) static HOLD: LazyLock<Command> = LazyLock::new(|| Command::new("hold", include_str!("hold.lua")));
pub(super) static RELEASE: LazyLock<Command> =
    LazyLock::new(|| Command::new("release", include_str!("release.lua")));

/// The most entries that one call releases, because Lua's `unpack` takes a limited number of values.
const RELEASED_MAX: usize = 1_000;

pub(super) async fn hold(line: &RedisLine, order: &HoldOrder<'_>) -> Result<Holding, LineError> {
    let call = HOLD
        .on([holds(order.deployment)])
        .arg(line.given_us())
        .arg(order.id.to_member())
        .arg(order.below)
        .arg(order.lease_ms)
        .arg(HOLD_LEASE_MS_MAX);
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "counted" => Ok(Holding::Counted {
            held: reply.number()?,
        }),
        "full" => Ok(Holding::Full),
        "already-held" => Ok(Holding::AlreadyHeld),
        _ => Err(reply.nonsense("a known outcome")),
    }
}

pub(super) async fn release(line: &RedisLine, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
    for ids in ids.chunks(RELEASED_MAX) {
        let members = ids.iter().map(|id| id.to_member());
        let call = RELEASE.on([holds(deployment)]).args(members);
        call.send(line).await?;
    }
    Ok(())
}
