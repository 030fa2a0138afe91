//! What the console knows of all queues: their rows, and their samples.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    ring::SampleRing,
    sample::{QueueNumbers, Sample, WaitSum, wait_sum},
};

/// The most queues that have samples. Those beyond, by name, have their rows only.
pub(crate) const SAMPLED_QUEUES_MAX: usize = 2_000;
/// The most runs of equal samples of all queues together: about 60 MB. That is an hour of 270 queues that change all the
/// time; of more queues, the console keeps less than an hour.
const RUNS_MAX: usize = 200_000;

/// What the console knows of one queue.
#[derive(Debug, Default)]
pub(crate) struct QueueHistory {
    /// Its row, as `list` shows it.
    pub(crate) row: Value,
    ring: SampleRing,
    /// The waits at the last sample with totals.
    waits: Option<WaitSum>,
    /// The age of the promoter's heartbeat at the last sample; `None` while the promoter has parked the queue.
    heartbeat_age_ms: Option<u64>,
    /// The log of orders as it was last read.
    pub(crate) orders: Value,
    /// Until when an operator looks at the queue, in Unix milliseconds.
    pub(crate) watched_until_ms: u64,
}

impl QueueHistory {
    /// Whether the queue has no visitor, so that its row says all there is to see.
    fn is_idle(&self) -> bool {
        let is_empty = |name: &str| self.row[name].as_u64() == Some(0);
        ["waiting", "absent", "ready", "active", "held"]
            .into_iter()
            .all(is_empty)
    }

    /// Whether the totals of the queue are worth a command of their own.
    pub(crate) fn is_busy(&self, now_ms: u64) -> bool {
        now_ms < self.watched_until_ms || !self.is_idle()
    }

    /// The samples, oldest first.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.ring.samples().collect()
    }

    /// The line of the last half hour.
    pub(crate) fn waiting_points(&self, now_ms: u64) -> Vec<u64> {
        self.ring.waiting_points(now_ms)
    }
}

/// What the console knows of all queues.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    pub(crate) queues: BTreeMap<String, QueueHistory>,
}

impl Histories {
    /// Takes the rows of `list`. Queues that it does not have any more are forgotten.
    pub(crate) fn replace_rows(&mut self, rows: Vec<Value>) {
        let mut listed = BTreeSet::new();
        for row in rows {
            if let Some(queue) = row["queue"].as_str().map(str::to_owned) {
                self.queues.entry(queue.clone()).or_default().row = row;
                listed.insert(queue);
            }
        }
        self.queues.retain(|queue, _| listed.contains(queue));
    }

    /// The queues whose totals are worth a command each.
    pub(crate) fn busy_queues(&self, now_ms: u64) -> Vec<String> {
        let busy = self.queues.iter().filter(|(_, history)| history.is_busy(now_ms));
        busy.map(|(queue, _)| queue.clone()).collect()
    }

    /// Adds samples of the queues that the last `list` shows as idle.
    pub(crate) fn sample_idle_queues(&mut self, now_ms: u64, gap_max_ms: u64) {
        let sampled = self.queues.values_mut().take(SAMPLED_QUEUES_MAX);
        for history in sampled.filter(|history| !history.is_busy(now_ms)) {
            history.heartbeat_age_ms = None;
            let numbers = QueueNumbers::from_answer(&history.row);
            history.ring.push(now_ms, numbers, gap_max_ms);
        }
    }

    /// Adds a sample of one queue from the answer of `stats`, and corrects its row.
    pub(crate) fn sample_busy_queue(&mut self, queue: &str, stats: &Value, now_ms: u64, gap_max_ms: u64) {
        let has_room = self
            .queues
            .keys()
            .take(SAMPLED_QUEUES_MAX)
            .any(|name| name == queue);
        let Some(history) = self.queues.get_mut(queue) else {
            // It was deleted meanwhile.
            return;
        };
        history.heartbeat_age_ms = stats["heartbeat_age_ms"].as_u64();
        correct_row(&mut history.row, stats);
        let mut numbers = QueueNumbers::from_answer(stats);
        let waits = wait_sum(stats);
        numbers.had_wait_seconds = waits
            .zip(history.waits)
            .and_then(|(now, earlier)| now.mean_since(earlier));
        history.waits = waits;
        if has_room {
            history.ring.push(now_ms, numbers, gap_max_ms);
        }
    }

    /// Removes the oldest samples if all queues together have too many.
    pub(crate) fn limit_memory(&mut self) {
        let runs =
            |histories: &Self| -> usize { histories.queues.values().map(|queue| queue.ring.runs()).sum() };
        let mut limit = crate::ring::SAMPLES_MAX;
        while runs(self) > RUNS_MAX {
            limit -= limit / 10;
            for history in self.queues.values_mut() {
                history.ring.shorten_to(limit);
            }
        }
    }

    /// The greatest age of the promoter's heartbeat among the queues that are not parked, in milliseconds.
    pub(crate) fn tick_age_ms(&self) -> Option<u64> {
        self.queues
            .values()
            .filter_map(|history| history.heartbeat_age_ms)
            .max()
    }
}

/// Takes the members of a row from newer numbers that have them, too.
fn correct_row(row: &mut Value, stats: &Value) {
    let Some(members) = row.as_object_mut() else {
        return;
    };
    for (name, value) in members.iter_mut() {
        if let Some(newer) = stats.get(name) {
            *value = newer.clone();
        }
    }
    if let Some(apart) = stats["clock"]["apart"].as_bool() {
        members.insert("clocks_apart".to_owned(), json!(apart));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP_MAX_MS: u64 = 10_000;

    fn row(queue: &str, waiting: u64) -> Value {
        json!({ "queue": queue, "waiting": waiting, "absent": 0, "ready": 0, "active": 0, "held": 0, "clocks_apart": true })
    }

    #[test]
    fn a_deleted_queue_is_forgotten() {
        let mut histories = Histories::default();
        histories.replace_rows(vec![row("a", 0), row("b", 0)]);
        histories.sample_idle_queues(0, GAP_MAX_MS);
        histories.replace_rows(vec![row("b", 0), row("c", 0)]);
        let names: Vec<_> = histories.queues.keys().map(String::as_str).collect();
        assert_eq!(names, ["b", "c"]);
        assert_eq!(histories.queues["b"].samples().len(), 1);
        // A late answer brings none of it back.
        histories.sample_busy_queue("a", &json!({ "waiting": 1 }), 0, GAP_MAX_MS);
        assert_eq!(histories.queues.len(), 2);
    }

    #[test]
    fn only_queues_with_visitors_or_an_operator_are_busy() {
        let mut histories = Histories::default();
        histories.replace_rows(vec![row("idle", 0), row("looked-at", 0), row("sale", 2)]);
        let looked_at = histories.queues.get_mut("looked-at").expect("the queue");
        looked_at.watched_until_ms = 100;
        assert_eq!(histories.busy_queues(50), ["looked-at", "sale"]);
        assert_eq!(histories.busy_queues(100), ["sale"]);
    }

    #[test]
    fn stats_correct_the_row_of_an_earlier_list() {
        let mut histories = Histories::default();
        histories.replace_rows(vec![row("q", 2)]);
        let stats = |count: u64| {
            json!({
                "waiting": 1, "absent": 0, "clock": { "apart": false }, "heartbeat_age_ms": 700,
                "waits": { "count": count, "sum_ms": count * 8_000 }, "totals": { "promoted": count },
            })
        };
        histories.sample_busy_queue("q", &stats(3), 0, GAP_MAX_MS);
        histories.sample_busy_queue("q", &stats(5), 5_000, GAP_MAX_MS);
        let history = &histories.queues["q"];
        assert_eq!(
            (&history.row["waiting"], &history.row["clocks_apart"]),
            (&json!(1), &json!(false))
        );
        assert_eq!(history.row.get("totals"), None);
        let samples: Vec<_> = history
            .samples()
            .iter()
            .map(|sample| sample.numbers.had_wait_seconds)
            .collect();
        assert_eq!(samples, [None, Some(8.0)]);
        assert_eq!(histories.tick_age_ms(), Some(700));
    }

    #[test]
    fn memory_is_bounded_with_many_busy_queues() {
        let mut histories = Histories::default();
        let names: Vec<_> = (0..SAMPLED_QUEUES_MAX + 10)
            .map(|number| format!("q{number:05}"))
            .collect();
        histories.replace_rows(names.iter().map(|name| row(name, 1)).collect());
        for round in 0..110 {
            for history in histories.queues.values_mut().take(SAMPLED_QUEUES_MAX) {
                let numbers = QueueNumbers::from_answer(&json!({ "waiting": round }));
                history.ring.push(round * 5_000, numbers, GAP_MAX_MS);
            }
            histories.limit_memory();
        }
        let samples: usize = histories
            .queues
            .values()
            .map(|history| history.ring.samples().count())
            .sum();
        assert!((RUNS_MAX / 2..=RUNS_MAX).contains(&samples), "{samples}");
        let last = &names[SAMPLED_QUEUES_MAX];
        histories.sample_busy_queue(last, &json!({ "waiting": 1 }), 0, GAP_MAX_MS);
        assert!(histories.queues[last].samples().is_empty());
    }
}
