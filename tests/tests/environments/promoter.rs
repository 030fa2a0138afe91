//! A promoter that is killed in the middle of its minute.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::sleep};
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{change::Event, id::EntryId, state::EntryState};
use vestibule_line::{JournalRecord, Line, QueueView};
use vestibule_tests::{functions::Choices, lambda::Failure, waiting::wait_until};

use crate::{BOUND, Guest, Stage};

const CAPACITY: u64 = 6;
const BATCH: u64 = 3;
const INTERVAL_MS: u64 = 1_000;
const VISITORS: usize = 30;
const KILLS: usize = 4;

/// What was seen of a line over time.
#[derive(Default)]
struct Seen {
    /// Line time, and how many had been let out of the line by then.
    let_out: Vec<(u64, u64)>,
    /// By which journal records an entry was promoted.
    promotions: HashMap<EntryId, HashSet<String>>,
}

impl Seen {
    fn look(&mut self, view: &QueueView, journal: &[JournalRecord]) {
        assert!(
            view.ready + view.active <= CAPACITY,
            "more than there is room for: {view:?}"
        );
        self.let_out
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

    /// Between any two looks the bucket gave no more than was in it and what ran in meanwhile.
    fn kept_the_pace(&self) {
        for (n, (from_ms, before)) in self.let_out.iter().enumerate() {
            for (to_ms, after) in &self.let_out[n..] {
                let most = BATCH + (to_ms - from_ms) * BATCH / INTERVAL_MS;
                assert!(
                    after - before <= most,
                    "{} in {} ms",
                    after - before,
                    to_ms - from_ms
                );
            }
        }
    }
}

/// Looks at the line again and again until told to stop.
fn watch(stage: &Arc<Stage>, mut stop: tokio::sync::oneshot::Receiver<()>) -> JoinHandle<Seen> {
    let stage = stage.clone();
    tokio::spawn(async move {
        let mut seen = Seen::default();
        while stop.try_recv().is_err() {
            let journal = stage
                .line
                .due_journal_records(&stage.queue, 1_000)
                .await
                .expect("there is the queue");
            seen.look(&stage.view().await, &journal);
            sleep(Duration::from_millis(10)).await;
        }
        seen
    })
}

/// Those who wait, and those who were let in at once.
async fn everybody_enters(stage: &Stage) -> (Vec<Guest>, Vec<Guest>) {
    let (mut outside, mut inside) = (Vec::new(), Vec::new());
    for _ in 0..VISITORS {
        let (guest, entered) = stage.enters().await;
        let place = if entered.text("state") == "active" {
            &mut inside
        } else {
            &mut outside
        };
        place.push(guest);
    }
    (outside, inside)
}

/// Everybody comes back until they are through: each claims as soon as it is their turn, and is done a round later.
async fn go_through(stage: Arc<Stage>, mut outside: Vec<Guest>, mut inside: Vec<Guest>) {
    while !outside.is_empty() || !inside.is_empty() {
        for guest in std::mem::take(&mut inside) {
            stage.completes(&guest).await;
        }
        for guest in std::mem::take(&mut outside) {
            if stage.looks(&guest).await.is(200).text("state") == "ready" {
                stage.claims(&guest).await.is(200);
                inside.push(guest);
            } else {
                outside.push(guest);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_run_goes_on_and_nobody_is_promoted_twice() {
    let choices = Choices {
        // A short minute. A run that nobody kills ends by itself 2 s before.
        promoter_timeout: Duration::from_secs(20),
        ..Choices::default()
    };
    let settings = json!({ "capacity": CAPACITY, "batch": BATCH, "interval_seconds": INTERVAL_MS / 1_000 });
    let stage = Arc::new(Stage::open(choices, settings).await);
    let (outside, inside) = everybody_enters(&stage).await;
    let (waited, everybody) = (outside.clone(), [outside.clone(), inside.clone()].concat());
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let watching = watch(&stage, stopped);
    let going = tokio::spawn(go_through(stage.clone(), outside, inside));

    for _ in 0..KILLS {
        a_run_is_killed(&stage).await;
    }
    assert!(stage.view().await.waiting > 0, "killed in the middle of it");
    let last = scheduled(&stage);
    going.await.expect("everybody gets through");
    wait_until(BOUND, "the journal is in the backup", async || {
        stage.view().await.journal_len == 0
    })
    .await;
    assert_eq!(
        last.await.expect("no panic"),
        Ok(Value::Null),
        "it ends by itself"
    );
    let _ = stop.send(());

    let seen = watching.await.expect("within capacity at every look");
    seen.kept_the_pace();
    for (id, records) in &seen.promotions {
        assert_eq!(records.len(), 1, "{id} was promoted by {records:?}");
    }
    let totals = stage.view().await.totals;
    assert_eq!(totals.promoted, waited.len() as u64, "each of them once");
    assert_eq!(totals.no_shows, 0);
    backup_agrees(&stage, &everybody, &waited).await;
}

/// No other run follows: the functions that visitors call do its work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_next_run_people_bring_themselves_through() {
    let settings = json!({ "capacity": CAPACITY, "batch": BATCH, "interval_seconds": INTERVAL_MS / 1_000 });
    let stage = Arc::new(Stage::open(Choices::default(), settings).await);
    let (outside, inside) = everybody_enters(&stage).await;
    let (waited, everybody) = (outside.clone(), [outside.clone(), inside.clone()].concat());
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let watching = watch(&stage, stopped);
    let going = tokio::spawn(go_through(stage.clone(), outside, inside));
    a_run_is_killed(&stage).await;
    assert!(stage.view().await.waiting > 0, "killed in the middle of it");

    going.await.expect("everybody gets through");
    wait_until(BOUND, "the journal is in the backup", async || {
        stage.looks(&everybody[0]).await;
        stage.view().await.journal_len == 0
    })
    .await;
    let _ = stop.send(());
    let seen = watching.await.expect("within capacity at every look");
    seen.kept_the_pace();
    for (id, records) in &seen.promotions {
        assert_eq!(records.len(), 1, "{id} was promoted by {records:?}");
    }
    let view = stage.view().await;
    assert_eq!(view.totals.promoted, waited.len() as u64, "each of them once");
    assert!(view.heartbeat_ms < view.fallback_ticked_at_ms, "{view:?}");
    backup_agrees(&stage, &everybody, &waited).await;
}

fn scheduled(stage: &Arc<Stage>) -> JoinHandle<Result<Value, Failure>> {
    let deployment = stage.deployment.clone();
    tokio::spawn(async move { deployment.promoter_runs().await })
}

/// A run of the schedule that is killed as soon as it has promoted anybody.
async fn a_run_is_killed(stage: &Arc<Stage>) {
    let run = scheduled(stage);
    let before = stage.view().await.totals.promoted;
    wait_until(BOUND, "the run promotes", async || {
        stage.view().await.totals.promoted > before
    })
    .await;
    assert_eq!(stage.deployment.lambda.kill("promoter"), 1, "it was at work");
    let ended = run.await.expect("no panic");
    assert!(matches!(ended, Err(Failure::Exited(_))), "{ended:?}");
}

/// The durable record of everybody is whole, and they were promoted in the order in which they came.
async fn backup_agrees(stage: &Stage, everybody: &[Guest], waited: &[Guest]) {
    let shelf = EntryPartition::from_configuration(&stage.queue, &stage.view().await.configuration);
    let record = async |guest: &Guest| {
        let id = guest.token.parse().expect("a token");
        let record = stage.deployment.backup.read_entry(&shelf, id).await;
        record.expect("the backup answers").expect("a record")
    };
    for guest in everybody {
        assert_eq!(record(guest).await.state, EntryState::Completed);
    }
    let mut last_ms = 0;
    for guest in waited {
        let promoted_at_ms = record(guest).await.promoted_at_ms.expect("promoted");
        assert!(promoted_at_ms >= last_ms, "before somebody who had come earlier");
        last_ms = promoted_at_ms;
    }
}
