//! Sends `restore.lua`, after `stage.lua` has prepared its sets.

use std::sync::LazyLock;

use uuid::Uuid;

use super::{
    RedisLine,
    configure::fields,
    connect::{Sender, failed},
    keys::Keys,
    script::Command,
    stage::stage,
};
use crate::{
    domain::{clock::LineTime, id::QueueId, record::Record},
    line::{
        Configuration, Configured, LineError,
        restored::{Restored, last_us},
    },
};

pub(super) static RESTORE: LazyLock<Command> =
    LazyLock::new(|| Command::new("restore", include_str!("restore.lua")));

pub(super) async fn restore(
    line: &RedisLine,
    queue: &QueueId,
    configuration: &Configuration,
    entries: &[Record],
) -> Result<Configured, LineError> {
    let now_us = now_us(line, last_us(entries)).await?;
    let claim_by_ms = now_us / 1_000 + configuration.settings.claim_ms();
    let restored = Restored::from_records(entries, claim_by_ms);
    let (keys, restorer) = (Keys::new(queue), Uuid::new_v4().to_string());
    let staged = ["waiting", "ready", "active"].map(|name| keys.staged(&restorer, name));
    let waiting = restored
        .waiting
        .into_iter()
        .map(|(score, id)| (score.raw(), id))
        .collect();
    let ready = restored
        .ready
        .into_iter()
        .map(|(score, id)| (score.raw(), id))
        .collect();
    let active = restored
        .active
        .into_iter()
        .map(|(score, id)| (score.raw(), id))
        .collect();
    for (set, entries) in staged.iter().zip([waiting, ready, active]) {
        stage(line, set, entries).await?;
    }
    let live = ["waiting", "ready", "active", "ended", "config", "state"].map(|name| keys.key(name));
    let call = RESTORE
        .on(live.into_iter().chain(staged))
        .arg(now_us)
        .arg(restored.last_order)
        .arg(restored.v);
    let reply = call.args(fields(configuration)).send(line).await?;
    match reply.outcome() {
        "created" => Ok(Configured::Created),
        "same" => Ok(Configured::Same),
        _ => Err(reply.nonsense("an outcome")),
    }
}

/// Line time of a queue that has none yet: the deadlines of a restore are made here, thousands at once.
async fn now_us(line: &RedisLine, last_us: u64) -> Result<u64, LineError> {
    let server_us = server_us(line).await?;
    Ok(LineTime::read(server_us, 0, line.witness_ms(), last_us).us)
}

async fn server_us(line: &RedisLine) -> Result<u64, LineError> {
    if let Some(clock) = &line.given {
        return Ok(clock());
    }
    let ask = async |mut link: Sender| redis::cmd("TIME").query_async(&mut link).await.map_err(failed);
    let (seconds, micros): (u64, u64) = line.connection.call(ask).await?;
    Ok(seconds * 1_000_000 + micros)
}
