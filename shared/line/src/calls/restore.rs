//! Restores a queue: stages its sorted sets and its hash, then sends `restore.lua`, which puts them
//! in place.

use std::collections::HashSet;

use serde_json::json;
use uuid::Uuid;
use vestibule_domain::{
    clock::LineTime,
    configuration::Configuration,
    fact::{Step, Turn},
    id::{EntryId, QueueId},
    tally::Tally,
};

use super::{
    Line,
    configure::config_fields,
    keys::Keys,
    script::script,
    stage::{StagedMark, StagedVisit, stage_entries, stage_visits},
    tally::tally_fields,
};
use crate::{ConfigureOutcome, LineError, RestoredEntries};

script!(RESTORE, "recovery/restore");

/// The keys of the queue that a restore changes, in the order of the script's header.
const LIVE_KEYS: [&str; 20] = [
    "waiting",
    "ready",
    "active",
    "held",
    "visits",
    "ended",
    "settled",
    "present",
    "seen",
    "closing",
    "journal",
    "journaled",
    "deferred",
    "dead_letters",
    "view",
    "config",
    "state",
    "lost",
    "tombstone",
    "tally",
];

impl Line {
    /// Restores a queue that the line does not have, or that it has with an earlier epoch.
    ///
    /// Waiting entries return to their places. Ready entries get new claim deadlines. Active
    /// entries stay active until their session ends. The pace bucket starts empty, and the
    /// watermark of [`raise_watermark`](Self::raise_watermark) starts at `fence`.
    ///
    /// Changes nothing if the queue has this epoch ([`ConfigureOutcome::Unchanged`]), or if it has
    /// a later epoch or was dropped for a later one ([`ConfigureOutcome::Superseded`]).
    pub async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        mut places: RestoredEntries,
    ) -> Result<ConfigureOutcome, LineError> {
        let time = read_line_time(self).await?;
        places.drop_future_visits(queue, time);
        let now_us = time.with_last_version(places.v);
        let claim_by_ms = now_us / 1_000 + configuration.settings.claim_ms();
        let (keys, restorer) = (Keys::new(queue), Uuid::new_v4().to_string());
        let staged =
            ["waiting", "ready", "active", "held", "visits"].map(|name| keys.staged_key(&restorer, name));
        let [waiting, ready, active, held, visits] = &staged;
        let (last_order, tally) = (places.last_order, encode_tally(&places.tally));
        let (entries_by_set, entry_visits) = split_entries(places, claim_by_ms);
        let staged_count = entries_by_set.iter().map(Vec::len).sum::<usize>() + entry_visits.len();
        for (set, entries) in [waiting, ready, active, held].into_iter().zip(entries_by_set) {
            stage_entries(self, set, entries).await?;
        }
        stage_visits(self, visits, &entry_visits).await?;
        let call = RESTORE
            .call_with_keys(LIVE_KEYS.map(|name| keys.key(name)).into_iter().chain(staged))
            .arg(now_us)
            .arg(last_order)
            .arg(fence)
            .arg(staged_count)
            .arg(tally);
        let reply = call.args(config_fields(self, configuration)).send(self).await?;
        match reply.outcome() {
            "created" => Ok(ConfigureOutcome::Created),
            "same" => Ok(ConfigureOutcome::Unchanged),
            "older" => Ok(ConfigureOutcome::Superseded),
            "incomplete" => Err(LineError::Unavailable(
                "the staged keys of a restore expired before Redis put them in place; restore the queue again"
                    .to_owned(),
            )),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}

/// The fields and values of the hash `tally`, as a list in JSON. The values are texts, because a script reads JSON numbers as
/// doubles.
fn encode_tally(tally: &Tally) -> String {
    let fields = tally_fields(tally).into_iter();
    let list: Vec<_> = fields
        .flat_map(|(name, number)| [name, number.to_string()])
        .collect();
    json!(list).to_string()
}

/// The members of a sorted set with their scores.
type ScoredEntries = Vec<(u64, EntryId)>;

/// Splits the entries into what the sets `waiting`, `ready`, `active` and `held` and the hash `visits`
/// are to hold.
fn split_entries(places: RestoredEntries, claim_by_ms: u64) -> ([ScoredEntries; 4], Vec<StagedVisit>) {
    let named = places.waiting_again.iter().map(|(_, id)| *id);
    let named: HashSet<_> = named.chain(places.moved.iter().map(|(_, id)| *id)).collect();
    let drawn = places.waiting.iter();
    let drawn = drawn.filter(|(place, id)| !place.is_after_opening() && !named.contains(id));
    let drawn = drawn.map(|&(place, id)| (place.visit(), Step::Waiting, StagedMark::None, id));
    let again = places.waiting_again.iter();
    let again = again.map(|&(visit, id)| (visit, Step::waiting_for(Turn::Second), StagedMark::None, id));
    let moved = places.moved.iter();
    let moved = moved.map(|&(fact, id)| (fact.visit, fact.step, StagedMark::At(fact.step_ms), id));
    let ready = places.ready.iter();
    let ready = ready.map(|&(visit, turn, id)| (visit, Step::ready_for(turn), StagedMark::None, id));
    let active = places.active.iter();
    let active = active.map(|&(session, id)| {
        (
            session.visit,
            Step::Active,
            session.began_at_ms.map_or(StagedMark::None, StagedMark::At),
            id,
        )
    });
    let held = places.held.iter();
    let held = held.map(|&(fact, how, id)| (fact.visit, fact.step, StagedMark::Ended(how), id));
    let visits = drawn
        .chain(again)
        .chain(moved)
        .chain(ready)
        .chain(active)
        .chain(held)
        .collect();
    let waiting = places.waiting.into_iter();
    let waiting = waiting.map(|(place, id)| (place.raw(), id)).collect();
    let ready = places
        .ready
        .into_iter()
        .map(|(.., id)| (claim_by_ms, id))
        .collect();
    let active = places.active.into_iter();
    let active = active.map(|(session, id)| (session.end_ms, id)).collect();
    let held = places.held.into_iter();
    let held = held.map(|(fact, _, id)| (fact.step_ms, id)).collect();
    ([waiting, ready, active, held], visits)
}

/// The line time of a queue that is not in Redis yet. It is computed here and not in a script,
/// because the deadlines of thousands of restored entries are computed here, too.
async fn read_line_time(line: &Line) -> Result<LineTime, LineError> {
    let server_us = line.server_time_us().await?;
    Ok(LineTime::from_clocks(server_us, 0, line.witness_ms(), 0))
}
