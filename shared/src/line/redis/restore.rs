//! Sends `restore.lua`, after the sets that it puts in place were staged.

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
    domain::{id::QueueId, score::DeadlineScore},
    line::{Configuration, Configured, LineError, Places},
};

pub(super) static RESTORE: LazyLock<Command> =
    LazyLock::new(|| Command::new("restore", include_str!("restore.lua")));

/// The keys of the queue that a restore touches, as the script names them.
const LIVE: [&str; 11] = [
    "waiting", "ready", "active", "ended", "sought", "journal", "aside", "load", "config", "state", "lost",
];

pub(super) async fn restore(
    line: &RedisLine,
    queue: &QueueId,
    configuration: &Configuration,
    fence: u64,
    places: Places,
) -> Result<Configured, LineError> {
    let now_us = now_us(line).await?;
    let claim_by_ms = now_us / 1_000 + configuration.settings.claim_ms();
    let (keys, restorer) = (Keys::new(queue), Uuid::new_v4().to_string());
    let staged = ["waiting", "ready", "active"].map(|name| keys.staged(&restorer, name));
    let by_raw = |(score, id): (DeadlineScore, _)| (score.raw(), id);
    let waiting = places
        .waiting
        .into_iter()
        .map(|(score, id)| (score.raw(), id))
        .collect();
    let ready = places
        .ready
        .into_iter()
        .map(|(visit, id)| by_raw((DeadlineScore::new(claim_by_ms, visit), id)))
        .collect();
    let active = places.active.into_iter().map(by_raw).collect();
    for (set, entries) in staged.iter().zip([waiting, ready, active]) {
        stage(line, set, entries).await?;
    }
    let call = RESTORE
        .on(LIVE.map(|name| keys.key(name)).into_iter().chain(staged))
        .arg(now_us)
        .arg(places.last_order)
        .arg(places.v)
        .arg(fence);
    let reply = call.args(fields(configuration)).send(line).await?;
    match reply.outcome() {
        "created" => Ok(Configured::Created),
        "same" => Ok(Configured::Same),
        "older" => Ok(Configured::Older),
        _ => Err(reply.nonsense("an outcome")),
    }
}

/// The server's time: the deadlines of a restore are made here, thousands at once.
pub(super) async fn now_us(line: &RedisLine) -> Result<u64, LineError> {
    if let Some(clock) = &line.given {
        return Ok(clock());
    }
    let ask = async |mut link: Sender| redis::cmd("TIME").query_async(&mut link).await.map_err(failed);
    let (seconds, micros): (u64, u64) = line.connection.call(ask).await?;
    Ok(seconds * 1_000_000 + micros)
}
