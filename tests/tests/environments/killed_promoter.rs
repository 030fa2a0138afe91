//! A promoter that is killed during its run.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::sleep};
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{change::Event, id::EntryId, state::EntryState};
use vestibule_line::{JournalRecord, OperatorView};
use vestibule_tests::{
    api::Guest, functions::DeploymentConfig, lambda::InvocationError, waiting::wait_until,
};

use crate::{BOUND, Stage};

const CAPACITY: u64 = 6;
const BATCH: u64 = 3;
const INTERVAL_MS: u64 = 1_000;
const VISITORS: usize = 30;
const KILLS: usize = 4;

/// What a test observed of a line over time.
#[derive(Default)]
struct LineHistory {
    /// The line time in milliseconds, and the number of entries promoted or fast-tracked until then.
    promoted_counts: Vec<(u64, u64)>,
    /// The keys of the journal records that promoted each entry.
    promotions: HashMap<EntryId, HashSet<String>>,
}

impl LineHistory {
    fn record(&mut self, view: &OperatorView, journal: &[JournalRecord]) {
        assert!(
            view.ready + view.active <= CAPACITY,
            "the queue exceeds its capacity: {view:?}"
        );
        self.promoted_counts
            .push((view.now_ms, view.totals.promoted + view.totals.fast_tracked));
        for record in journal {
            for change in &record.changes {
                if matches!(change.event, Event::Promoted { .. }) {
                    self.promotions
                        .entry(change.id)
                        .or_default()
                        .insert(record.key.clone());
                }
            }
        }
    }

    /// Asserts for any two observations that the token bucket gave no more than one batch and the tokens of that time.
    fn assert_pace(&self) {
        for (n, (from_ms, before)) in self.promoted_counts.iter().enumerate() {
            for (to_ms, after) in &self.promoted_counts[n..] {
                let promoted_max = BATCH + (to_ms - from_ms) * BATCH / INTERVAL_MS;
                assert!(
                    after - before <= promoted_max,
                    "{} entries were promoted in {} ms",
                    after - before,
                    to_ms - from_ms
                );
            }
        }
    }
}

/// Observes the line every 10 ms until the test stops it.
fn watch(stage: &Arc<Stage>, mut stop: tokio::sync::oneshot::Receiver<()>) -> JoinHandle<LineHistory> {
    let stage = stage.clone();
    tokio::spawn(async move {
        let mut history = LineHistory::default();
        while stop.try_recv().is_err() {
            let journal = stage
                .line
                .due_journal_records(&stage.queue, 1_000)
                .await
                .expect("the queue exists");
            history.record(&stage.view().await, &journal);
            sleep(Duration::from_millis(10)).await;
        }
        history
    })
}

/// Enters all visitors. Returns those who wait, and those who are active at once.
async fn enter_all(stage: &Stage) -> (Vec<Guest>, Vec<Guest>) {
    let (mut waiting, mut active) = (Vec::new(), Vec::new());
    for _ in 0..VISITORS {
        let (visitor, entered) = stage.enter().await;
        let place = if entered.text("state") == "active" {
            &mut active
        } else {
            &mut waiting
        };
        place.push(visitor);
    }
    (waiting, active)
}

/// Polls for all visitors until each has completed. A visitor claims once ready, and completes one round later.
async fn go_through(stage: Arc<Stage>, mut waiting: Vec<Guest>, mut active: Vec<Guest>) {
    while !waiting.is_empty() || !active.is_empty() {
        for visitor in std::mem::take(&mut active) {
            stage.complete(&visitor).await;
        }
        for visitor in std::mem::take(&mut waiting) {
            if stage.get_status(&visitor).await.expect_status(200).text("state") == "ready" {
                stage.claim(&visitor).await.expect_status(200);
                active.push(visitor);
            } else {
                waiting.push(visitor);
            }
        }
        // A process answers one visitor two requests a second.
        sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn next_run_continues_and_promotes_each_entry_once() {
    let config = DeploymentConfig {
        // The run ends by itself 2 s before this timeout, unless the test kills it.
        promoter_timeout: Duration::from_secs(20),
        ..DeploymentConfig::default()
    };
    let settings = json!({ "capacity": CAPACITY, "batch": BATCH, "interval_seconds": INTERVAL_MS / 1_000 });
    let stage = Arc::new(Stage::open(config, settings).await);
    let (waiting, active) = enter_all(&stage).await;
    let (waiting_visitors, visitors) = (waiting.clone(), [waiting.clone(), active.clone()].concat());
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let watching = watch(&stage, stopped);
    let visiting = tokio::spawn(go_through(stage.clone(), waiting, active));

    for _ in 0..KILLS {
        kill_a_run(&stage).await;
    }
    assert!(
        stage.view().await.waiting > 0,
        "the promoter was killed before the line was empty"
    );
    let last = spawn_promoter_run(&stage);
    visiting.await.expect("all visitors complete");
    wait_until(BOUND, "the journal is in the backup", async || {
        stage.view().await.journal_len == 0
    })
    .await;
    assert_eq!(
        last.await.expect("no panic"),
        Ok(Value::Null),
        "the run ends by itself"
    );
    let _ = stop.send(());

    let history = watching.await.expect("the queue never exceeds its capacity");
    history.assert_pace();
    for (id, records) in &history.promotions {
        assert_eq!(records.len(), 1, "{id} was promoted by {records:?}");
    }
    let totals = stage.view().await.totals;
    assert_eq!(
        totals.promoted,
        waiting_visitors.len() as u64,
        "each waiting entry is promoted once"
    );
    assert_eq!(totals.no_shows, 0);
    assert_backup_is_complete(&stage, &visitors, &waiting_visitors).await;
}

/// The functions that visitors call run fallback ticks instead of the promoter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fallback_ticks_finish_the_queue_without_a_promoter() {
    let settings = json!({ "capacity": CAPACITY, "batch": BATCH, "interval_seconds": INTERVAL_MS / 1_000 });
    let stage = Arc::new(Stage::open(DeploymentConfig::default(), settings).await);
    let (waiting, active) = enter_all(&stage).await;
    let (waiting_visitors, visitors) = (waiting.clone(), [waiting.clone(), active.clone()].concat());
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let watching = watch(&stage, stopped);
    let visiting = tokio::spawn(go_through(stage.clone(), waiting, active));
    kill_a_run(&stage).await;
    assert!(
        stage.view().await.waiting > 0,
        "the promoter was killed before the line was empty"
    );

    visiting.await.expect("all visitors complete");
    wait_until(BOUND, "the journal is in the backup", async || {
        stage.get_status(&visitors[0]).await;
        sleep(Duration::from_millis(500)).await;
        stage.view().await.journal_len == 0
    })
    .await;
    let _ = stop.send(());
    let history = watching.await.expect("the queue never exceeds its capacity");
    history.assert_pace();
    for (id, records) in &history.promotions {
        assert_eq!(records.len(), 1, "{id} was promoted by {records:?}");
    }
    let view = stage.view().await;
    assert_eq!(
        view.totals.promoted,
        waiting_visitors.len() as u64,
        "each waiting entry is promoted once"
    );
    assert!(view.heartbeat_ms < view.fallback_ticked_at_ms, "{view:?}");
    assert_backup_is_complete(&stage, &visitors, &waiting_visitors).await;
}

fn spawn_promoter_run(stage: &Arc<Stage>) -> JoinHandle<Result<Value, InvocationError>> {
    let deployment = stage.deployment.clone();
    tokio::spawn(async move { deployment.run_promoter().await })
}

/// Starts a run of the promoter and kills it as soon as it has promoted an entry.
async fn kill_a_run(stage: &Arc<Stage>) {
    let run = spawn_promoter_run(stage);
    let before = stage.view().await.totals.promoted;
    wait_until(BOUND, "the run promotes", async || {
        stage.view().await.totals.promoted > before
    })
    .await;
    assert_eq!(
        stage.deployment.lambda.kill("promoter"),
        1,
        "one promoter was running"
    );
    let ended = run.await.expect("no panic");
    assert!(matches!(ended, Err(InvocationError::Exited(_))), "{ended:?}");
}

/// Asserts that the backup shows every entry as completed, and promoted in the order of entering.
async fn assert_backup_is_complete(stage: &Stage, visitors: &[Guest], waiting_visitors: &[Guest]) {
    let partition = EntryPartition::from_configuration(&stage.queue, &stage.view().await.configuration);
    let record = async |visitor: &Guest| {
        let id = visitor.token.parse().expect("a token");
        let record = stage.deployment.backup.read_entry(&partition, id).await;
        record.expect("the backup answers").expect("a record")
    };
    for visitor in visitors {
        assert_eq!(record(visitor).await.state, EntryState::Completed);
    }
    let mut last_ms = 0;
    for visitor in waiting_visitors {
        let promoted_at_ms = record(visitor).await.promoted_at_ms.expect("promoted");
        assert!(
            promoted_at_ms >= last_ms,
            "the entry was promoted before an earlier one"
        );
        last_ms = promoted_at_ms;
    }
}
