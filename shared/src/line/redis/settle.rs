//! Sends `settle.lua`.

use std::sync::LazyLock;

use super::{RedisLine, keys::Keys, script::Command};
use crate::{
    domain::id::{EntryId, QueueId},
    line::LineError,
};

pub(super) static SETTLE: LazyLock<Command> =
    LazyLock::new(|| Command::new("settle", include_str!("settle.lua")));

pub(super) async fn settle(
    line: &RedisLine,
    queue: &QueueId,
    keys: &[String],
    ended: &[EntryId],
) -> Result<(), LineError> {
    let call = SETTLE
        .of(&Keys::new(queue))
        .arg(keys.len())
        .args(keys)
        .args(ended.iter().map(|id| id.to_member()));
    call.send(&line.connection).await.map(drop)
}
