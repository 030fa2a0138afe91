//! Sends `stage.lua`.

use std::sync::LazyLock;

use super::{RedisLine, script::Command};
use crate::{domain::id::EntryId, line::LineError};

pub(super) static STAGE: LazyLock<Command> =
    LazyLock::new(|| Command::new("stage", include_str!("stage.lua")));

/// As many as go in one call.
const CHUNK: usize = 1_000;
/// How long a set outlives the restore that prepares it.
const TTL_SECONDS: u64 = 600;

/// Adds entries, given by score, to a staged set. Sorted ones go in fastest.
pub(super) async fn stage(
    line: &RedisLine,
    staged: &str,
    mut entries: Vec<(u64, EntryId)>,
) -> Result<(), LineError> {
    entries.sort_unstable();
    for chunk in entries.chunks(CHUNK) {
        let additions = chunk
            .iter()
            .flat_map(|(score, id)| [score.to_string(), id.to_member()]);
        STAGE
            .on([staged.to_owned()])
            .arg(TTL_SECONDS)
            .args(additions)
            .send(line)
            .await?;
    }
    Ok(())
}
