//! Deletes journal records, dead letters and ends that the backup has: sends `acknowledge.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Ending, Version},
    id::QueueId,
};
use vestibule_line::LineError;

use super::{RedisLine, keys::Keys, script::Command};

pub(super) static SETTLE: LazyLock<Command> =
    LazyLock::new(|| Command::new("settle", include_str!("settle.lua")));

pub(super) async fn settle(
    line: &RedisLine,
    queue: &QueueId,
    keys: &[String],
    ended: &[Ending],
) -> Result<(), LineError> {
    let ends = ended.iter().flat_map(|end| {
        let Version { epoch, v } = end.version;
        [end.id.to_member(), epoch.to_string(), v.to_string()]
    });
    let call = SETTLE.of(&Keys::new(queue)).arg(keys.len()).args(keys).args(ends);
    call.send(line).await.map(drop)
}
