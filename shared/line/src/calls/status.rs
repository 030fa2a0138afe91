//! Reads the status of one entry: first with a plain command, then with `status.lua` if the entry is not
//! waiting.

use std::sync::atomic::Ordering;

use redis::{Cmd, Pipeline};
use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    score::WaitScore,
};

use super::{Line, connect::Request, fields::parse_integer, keys::Keys, script::script};
use crate::{EntryLookup, LineError};

script!(STATUS, "visit/status");

impl Line {
    /// Returns the status of an entry. Changes nothing. The position is the rank in the whole line: it
    /// counts absent entries and those of earlier lanes, too.
    pub async fn status(&self, queue: &QueueId, id: EntryId) -> Result<EntryLookup, LineError> {
        let (key, member) = (Keys::new(queue).key("waiting"), id.to_member());
        let started = self.round_trips.start_measurement();
        let place = find_waiting_entry(self, &key, &member).await;
        self.round_trips
            .record_measurement(queue, started, matches!(place, Ok(Some(_))));
        if let Some(waiting) = place? {
            return Ok(EntryLookup::Found(waiting));
        }
        let mut reply = self
            .begin_call(&STATUS, queue)
            .arg(member)
            .may_run_twice()
            .send(self)
            .await?;
        match reply.outcome() {
            "here" => Ok(EntryLookup::Found(reply.read_status()?)),
            "gone" => Ok(EntryLookup::NotFound(reply.read_not_found(id)?)),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}

/// Reads the position and score of a waiting entry; `None` if the entry is not waiting.
async fn find_waiting_entry(line: &Line, key: &str, member: &str) -> Result<Option<EntryStatus>, LineError> {
    let found = if line.ranks_with_score.load(Ordering::Relaxed) {
        match read_rank_with_score(line, key, member).await {
            Err(LineError::Protocol(_)) => {
                // The server is older than 7.2 and does not know the option. Any other mistake
                // shows below.
                line.ranks_with_score.store(false, Ordering::Relaxed);
                read_rank_and_score(line, key, member).await?
            }
            found => found?,
        }
    } else {
        read_rank_and_score(line, key, member).await?
    };
    Ok(found.and_then(|(rank, score)| {
        // The script finds the visit of a drawn place.
        let score = WaitScore::from_raw(parse_integer(&score)?)?;
        if !score.is_after_opening() {
            return None;
        }
        Some(EntryStatus::Waiting {
            score,
            position: rank + 1,
        })
    }))
}

/// The rank and the score of a member.
type RankAndScore = Option<(u64, String)>;

async fn read_rank_with_score(line: &Line, key: &str, member: &str) -> Result<RankAndScore, LineError> {
    let command = build_command(&["ZRANK", key, member, "WITHSCORE"]);
    line.connection.send(Request::Command(&command)).await
}

async fn read_rank_and_score(line: &Line, key: &str, member: &str) -> Result<RankAndScore, LineError> {
    let mut pipeline = Pipeline::with_capacity(2);
    for name in ["ZRANK", "ZSCORE"] {
        pipeline.add_command(build_command(&[name, key, member]));
    }
    let (rank, score): (Option<u64>, Option<String>) =
        line.connection.send(Request::Pipeline(&pipeline)).await?;
    Ok(rank.zip(score))
}

/// The buffers have the exact capacity, because this is the most frequent call.
fn build_command(words: &[&str]) -> Cmd {
    let mut command = Cmd::with_capacity(words.len(), words.iter().map(|word| word.len()).sum());
    command.arg(words);
    command
}
