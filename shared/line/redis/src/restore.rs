//! Restores a queue: stages the sorted sets, then sends `restore.lua`, which puts them in place.

use std::sync::LazyLock;

use uuid::Uuid;
use vestibule_domain::{clock::LineTime, configuration::Configuration, id::QueueId, score::DeadlineScore};
use vestibule_line::{ConfigureOutcome, LineError, RestoredEntries};

use super::{
    RedisLine,
    configure::config_fields,
    connect::{CallLink, to_line_error},
    keys::Keys,
    script::LuaScript,
    stage::stage_entries,
};

pub(super) static RESTORE: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("restore", include_str!("restore.lua")));

/// The keys of the queue that a restore changes, in the order of the script's header.
const LIVE_KEYS: [&str; 11] = [
    "waiting",
    "ready",
    "active",
    "ended",
    "revival_tickets",
    "journal",
    "dead_letters",
    "load",
    "config",
    "state",
    "lost",
];

pub(super) async fn restore(
    line: &RedisLine,
    queue: &QueueId,
    configuration: &Configuration,
    fence: u64,
    places: RestoredEntries,
) -> Result<ConfigureOutcome, LineError> {
    let now_us = read_line_time_us(line, places.v).await?;
    let claim_by_ms = now_us / 1_000 + configuration.settings.claim_ms();
    let (keys, restorer) = (Keys::new(queue), Uuid::new_v4().to_string());
    let staged = ["waiting", "ready", "active"].map(|name| keys.staged_key(&restorer, name));
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
    let sets: [Vec<_>; 3] = [waiting, ready, active];
    let entries: usize = sets.iter().map(Vec::len).sum();
    for (set, entries) in staged.iter().zip(sets) {
        stage_entries(line, set, entries).await?;
    }
    let call = RESTORE
        .call_with_keys(LIVE_KEYS.map(|name| keys.key(name)).into_iter().chain(staged))
        .arg(now_us)
        .arg(places.last_order)
        .arg(places.v)
        .arg(fence)
        .arg(entries);
    let reply = call.args(config_fields(configuration)).send(line).await?;
    match reply.outcome() {
        "created" => Ok(ConfigureOutcome::Created),
        "same" => Ok(ConfigureOutcome::Unchanged),
        "older" => Ok(ConfigureOutcome::Superseded),
        "incomplete" => Err(LineError::Unavailable(
            "the staged sets of a restore expired before Redis put them in place; restore the queue again"
                .to_owned(),
        )),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}

/// The line time of a queue that is not in Redis yet, in Unix microseconds. It is computed here and
/// not in a script, because the deadlines of thousands of restored entries are computed here, too.
/// It is never before `last_us`.
async fn read_line_time_us(line: &RedisLine, last_us: u64) -> Result<u64, LineError> {
    let server_us = read_server_time_us(line).await?;
    Ok(LineTime::from_clocks(server_us, 0, line.witness_ms(), last_us).us)
}

/// Reads the server's clock, in Unix microseconds.
pub(super) async fn read_server_time_us(line: &RedisLine) -> Result<u64, LineError> {
    if let Some(clock) = &line.given_clock {
        return Ok(clock());
    }
    let ask = async |mut link: CallLink| {
        redis::cmd("TIME")
            .query_async(&mut link)
            .await
            .map_err(to_line_error)
    };
    let (seconds, micros): (u64, u64) = line.connection.call(ask).await?;
    Ok(seconds * 1_000_000 + micros)
}
