//! Sends `status.lua`, where plain commands did not find the entry in line already.

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

/// Nearly everybody who asks is waiting, and what is to be said of them is in their place alone: so two plain commands
/// go first, at the speed of the server. Whoever moved between the two is asked for by the script.
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
        _ => Err(reply.nonsense("an outcome")),
    }
}

/// The place of a waiting entry; `None` where it is not in line.
async fn place(line: &RedisLine, key: &str, member: &str) -> Result<Option<Standing>, LineError> {
    // With room for what goes in: this is the call that a crowd repeats.
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
