//! Asks the admin function for the numbers of all queues, every five seconds.
//!
//! `list` reads every queue, and in DynamoDB the whole table of the queues. With many queues it is asked less often, so
//! that a thousand idle queues cost no more than a hundred. Between two lists the sampler asks for the queues in which
//! visitors are, by `stats`.

use std::{future::Future, pin::pin, time::Duration};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;
use vestibule_telemetry::clock::now_ms;

use crate::{
    Console,
    answers::{NoResult, ask},
};

/// The time between two samples.
pub(crate) const SAMPLE_SECONDS: u64 = 5;
/// As many queues are listed each round, on average.
const LISTED_PER_ROUND: usize = 100;
/// A list comes after this many rounds at the latest: a minute.
const LIST_ROUNDS_MAX: usize = 12;
/// The most queues that are asked for their totals in one round. With more, the rounds take turns.
const STATS_PER_ROUND: usize = 200;
/// How many commands are under way at the same time.
const CONCURRENT_COMMANDS_MAX: usize = 8;

/// Where the sampler is in its turns.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    rounds_since_list: usize,
    /// The queue after which the next turn of `stats` begins, if not all had theirs in one round.
    stats_after: Option<String>,
}

impl Console {
    /// Samples the queues until `stop` ends. A failure is shown by the page, and the last numbers stay.
    pub async fn run_sampler(&self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let mut rounds = interval(Duration::from_secs(SAMPLE_SECONDS));
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut turns = Turns::default();
        loop {
            tokio::select! {
                () = &mut stop => return,
                _ = rounds.tick() => {}
                () = self.wait_for_command() => {}
            }
            tokio::select! {
                () = &mut stop => return,
                () = self.run_round(&mut turns) => {}
            }
        }
    }

    /// Takes one sample of each queue whose numbers can be had.
    pub(crate) async fn run_round(&self, turns: &mut Turns) {
        let (round_trips, problem) =
            tokio::join!(self.admin().measure_round_trips(), self.sample_queues(turns));
        let mut findings = self.findings();
        findings.histories.limit_memory();
        findings.round_trips = round_trips;
        match &problem {
            None => findings.sampled_at_ms = Some(now_ms()),
            // Once, not each five seconds.
            Some(reason) if findings.problem.is_none() => {
                warn!(
                    event = "console.sample_failed",
                    reason, "the console has no new numbers of some queues"
                );
            }
            Some(_) => {}
        }
        findings.problem = problem;
    }

    /// All rows of `list`, which come in several answers if there are many.
    async fn list_queues(&self) -> Result<Value, NoResult> {
        let mut list = ask(self.admin(), json!({ "op": "list" })).await?;
        let mut rows = list["queues"].take();
        while let (Some(all), false) = (rows.as_array_mut(), list["after"].is_null()) {
            list = ask(self.admin(), json!({ "op": "list", "after": list["after"] })).await?;
            all.append(list["queues"].as_array_mut().unwrap_or(&mut Vec::new()));
        }
        Ok(rows)
    }

    /// Returns the first problem, if there was any.
    async fn sample_queues(&self, turns: &mut Turns) -> Option<String> {
        let mut problem = None;
        let queues = self.findings().histories.queues.len();
        let list_rounds = queues.div_ceil(LISTED_PER_ROUND).clamp(1, LIST_ROUNDS_MAX);
        let gap_max_ms = 2 * SAMPLE_SECONDS * 1_000 * list_rounds as u64;
        turns.rounds_since_list += 1;
        if self.take_list_due() || turns.rounds_since_list >= list_rounds {
            match self.list_queues().await {
                Ok(rows) => {
                    turns.rounds_since_list = 0;
                    problem = self.take_list(rows, gap_max_ms);
                }
                Err(none) => {
                    // The next round tries again.
                    turns.rounds_since_list = list_rounds;
                    problem = Some(none.reason());
                    if matches!(none, NoResult::Unreachable(_)) {
                        return problem;
                    }
                }
            }
        }
        let queues = turns.take_next(self.findings().histories.busy_queues(now_ms()));
        let mut answers = stream::iter(queues)
            .map(|queue| async move {
                let command = json!({ "op": "stats", "queue": queue });
                (ask(self.admin(), command).await, queue)
            })
            .buffer_unordered(CONCURRENT_COMMANDS_MAX);
        while let Some((answer, queue)) = answers.next().await {
            match answer {
                Ok(stats) => {
                    let histories = &mut self.findings().histories;
                    histories.sample_busy_queue(&queue, &stats, now_ms(), gap_max_ms);
                }
                // The next list says so.
                Err(none) if none.is_unknown_queue() => turns.rounds_since_list = LIST_ROUNDS_MAX,
                Err(none) => {
                    let reason = format!("{queue}: {}", none.reason());
                    problem.get_or_insert(reason);
                    if matches!(none, NoResult::Unreachable(_)) {
                        return problem;
                    }
                }
            }
        }
        problem
    }

    /// Takes the rows of a list. Returns the problem of the first row that has one.
    fn take_list(&self, rows: Value, gap_max_ms: u64) -> Option<String> {
        let Value::Array(rows) = rows else {
            return Some("the answer of list is not that of an admin function".to_owned());
        };
        let problem = rows.iter().find_map(|row| {
            let reason = row["problem"].as_str()?;
            Some(format!("{}: {reason}", row["queue"].as_str()?))
        });
        let histories = &mut self.findings().histories;
        histories.replace_rows(rows);
        histories.sample_idle_queues(now_ms(), gap_max_ms);
        problem
    }
}

impl Turns {
    /// The queues whose turn it is, at most [`STATS_PER_ROUND`]. `queues` are sorted.
    fn take_next(&mut self, mut queues: Vec<String>) -> Vec<String> {
        if queues.len() <= STATS_PER_ROUND {
            self.stats_after = None;
            return queues;
        }
        if let Some(after) = &self.stats_after {
            let start = queues.partition_point(|queue| queue <= after);
            let length = queues.len();
            queues.rotate_left(start % length);
        }
        queues.truncate(STATS_PER_ROUND);
        self.stats_after = queues.last().cloned();
        queues
    }
}

#[cfg(test)]
mod tests;
