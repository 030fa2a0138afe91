//! Reads the status of many entries: sends `status_many.lua`, once per [`LOOKS_CHUNK`] entries.

use std::sync::LazyLock;

use vestibule_domain::id::{EntryId, QueueId};
use vestibule_line::{LOOKS_CHUNK, LineError, Look};

use super::{RedisLine, script::Command};

pub(super) static LOOKS: LazyLock<Command> =
    LazyLock::new(|| Command::new("looks", include_str!("looks.lua")));

pub(super) async fn looks(
    line: &RedisLine,
    queue: &QueueId,
    ids: &[EntryId],
) -> Result<Vec<Look>, LineError> {
    let mut looks = Vec::with_capacity(ids.len());
    for some in ids.chunks(LOOKS_CHUNK) {
        let call = line.call(&LOOKS, queue);
        let mut reply = call.args(some.iter().map(|id| id.to_member())).send(line).await?;
        for _ in some {
            looks.push(match reply.word()?.as_str() {
                "here" => Look::Here(reply.standing()?),
                "gone" => Look::Gone(reply.missing()?),
                _ => return Err(reply.nonsense("a known outcome")),
            });
        }
    }
    Ok(looks)
}
