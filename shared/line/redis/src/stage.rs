//! Prepares a sorted set for a restore under a name of its own. Plain commands are enough, because
//! no other process reads the set yet.

use futures_util::{StreamExt, TryStreamExt, stream};
use redis::{Pipeline, cmd};
use vestibule_domain::id::EntryId;
use vestibule_line::LineError;

use super::{
    RedisLine,
    connect::{CallLink, to_line_error},
};

/// The number of entries in one `ZADD`. Redis serves no other command during a `ZADD`, so this
/// bounds the wait of other callers.
const ENTRIES_PER_ZADD: usize = 1_000;
/// The number of `ZADD` commands in one message.
const ZADDS_PER_MESSAGE: usize = 4;
/// The number of messages in flight. The server works on one while this process builds the next.
const MESSAGES_IN_FLIGHT: usize = 2;
/// The time to live of a staged set. Redis deletes the set if its restore dies.
const STAGED_TTL_SECONDS: u64 = 600;

/// Adds entries with their scores to a staged set. It sorts them first, because Redis adds sorted
/// entries fastest.
pub(super) async fn stage_entries(
    line: &RedisLine,
    staged: &str,
    mut entries: Vec<(u64, EntryId)>,
) -> Result<(), LineError> {
    entries.sort_unstable();
    // These futures are lazy: a message is built when it is sent. All messages together would need
    // many times the memory of the entries.
    let messages: Vec<_> = entries
        .chunks(ENTRIES_PER_ZADD * ZADDS_PER_MESSAGE)
        .map(|entries| send_message(line, staged, entries))
        .collect();
    stream::iter(messages)
        .buffered(MESSAGES_IN_FLIGHT)
        .try_collect()
        .await
}

async fn send_message(line: &RedisLine, staged: &str, entries: &[(u64, EntryId)]) -> Result<(), LineError> {
    let message = build_message(staged, entries);
    let send = async |mut link: CallLink| message.query_async(&mut link).await.map_err(to_line_error);
    line.connection.call(send).await
}

fn build_message(staged: &str, entries: &[(u64, EntryId)]) -> Pipeline {
    let mut message = Pipeline::with_capacity(ZADDS_PER_MESSAGE + 1);
    for chunk in entries.chunks(ENTRIES_PER_ZADD) {
        let mut add = cmd("ZADD");
        add.arg(staged);
        for (score, id) in chunk {
            add.arg(*score).arg(id.to_member());
        }
        message.add_command(add).ignore();
    }
    message.cmd("EXPIRE").arg(staged).arg(STAGED_TTL_SECONDS).ignore();
    message
}
