//! Reads the status of one entry: first with plain commands, then with `status.lua` if the entry is not
//! waiting.

use std::sync::LazyLock;

use redis::{Cmd, Pipeline};
use vestibule_domain::{
    id::{EntryId, QueueId},
    score::WaitScore,
    standing::Standing,
};
use vestibule_line::{LineError, Look};

use super::{
    RedisLine,
    connect::{Sender, failed},
    keys::Keys,
    reply::whole,
    script::Command,
};

pub(super) static STATUS: LazyLock<Command> =
    LazyLock::new(|| Command::new("status", include_str!("status.lua")));

/// Reads the status of an entry.
///
/// Nearly all status requests are for waiting entries, and the place of a waiting entry is all that the
/// answer needs. So two plain commands come first, because they are faster than a script. If the entry leaves
/// the line between the two commands, the second finds nothing, and the script answers.
pub(super) async fn status(line: &RedisLine, queue: &QueueId, id: EntryId) -> Result<Look, LineError> {
    let (key, member) = (Keys::new(queue).key("waiting"), id.to_member());
    let begun = line.round_trips.begin();
    let place = place(line, &key, &member).await;
    line.round_trips.end(queue, begun, matches!(place, Ok(Some(_))));
    if let Some(waiting) = place? {
        return Ok(Look::Here(waiting));
    }
    let mut reply = line.call(&STATUS, queue).arg(member).send(line).await?;
    match reply.outcome() {
        "here" => Ok(Look::Here(reply.standing()?)),
        "gone" => Ok(Look::Gone(reply.missing()?)),
        _ => Err(reply.nonsense("a known outcome")),
    }
}

/// Reads the position and score of a waiting entry; `None` if the entry is not waiting.
async fn place(line: &RedisLine, key: &str, member: &str) -> Result<Option<Standing>, LineError> {
    // The buffers have the exact capacity, because this is the most frequent call.
    let mut looks = Pipeline::with_capacity(2);
    for name in ["ZRANK", "ZSCORE"] {
        let mut look = Cmd::with_capacity(3, name.len() + key.len() + member.len());
        look.arg(name).arg(key).arg(member);
        looks.add_command(look);
    }
    let ask = async |mut link: Sender| looks.query_async(&mut link).await.map_err(failed);
    let (rank, score): (Option<u64>, Option<String>) = line.connection.call(ask).await?;
    let score = score
        .and_then(|score| whole(&score))
        .and_then(WaitScore::from_raw);
    Ok(rank.zip(score).map(|(rank, score)| Standing::Waiting {
        score,
        position: rank + 1,
    }))
}
