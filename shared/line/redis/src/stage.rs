//! Prepares a sorted set for a restore, under a name of its own: no script is needed for what nobody reads yet.

use futures_util::{StreamExt, TryStreamExt, stream};
use redis::{Pipeline, cmd};
use vestibule_domain::id::EntryId;
use vestibule_line::LineError;

use super::{
    RedisLine,
    connect::{Sender, failed},
};

/// As many entries as one `ZADD` adds: nobody else waits longer than for these.
const CHUNK: usize = 1_000;
/// As many go in one message.
const CHUNKS: usize = 4;
/// As many messages are under way: the server works while the next one is made.
const MESSAGES: usize = 2;
/// How long a set outlives the restore that prepares it.
const TTL_SECONDS: u64 = 600;

/// Adds entries, given by score, to a staged set. Sorted ones go in fastest.
pub(super) async fn stage(
    line: &RedisLine,
    staged: &str,
    mut entries: Vec<(u64, EntryId)>,
) -> Result<(), LineError> {
    entries.sort_unstable();
    // None is made before it is its turn: all of them together would be many times the entries.
    let messages: Vec<_> = entries
        .chunks(CHUNK * CHUNKS)
        .map(|entries| send(line, staged, entries))
        .collect();
    stream::iter(messages).buffered(MESSAGES).try_collect().await
}

async fn send(line: &RedisLine, staged: &str, entries: &[(u64, EntryId)]) -> Result<(), LineError> {
    let message = message(staged, entries);
    let send = async |mut link: Sender| message.query_async(&mut link).await.map_err(failed);
    line.connection.call(send).await
}

fn message(staged: &str, entries: &[(u64, EntryId)]) -> Pipeline {
    let mut message = Pipeline::with_capacity(CHUNKS + 1);
    for chunk in entries.chunks(CHUNK) {
        let mut add = cmd("ZADD");
        add.arg(staged);
        for (score, id) in chunk {
            add.arg(*score).arg(id.to_member());
        }
        message.add_command(add).ignore();
    }
    message.cmd("EXPIRE").arg(staged).arg(TTL_SECONDS).ignore();
    message
}
