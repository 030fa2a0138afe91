//! The promise over time: whoever comes back when told finds the turn, whatever an operator changes meanwhile, and
//! however old the view was by which they were told.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Map, Value, json};
use tokio::{
    task::{JoinSet, LocalSet},
    time::{Instant, advance, pause, resume, sleep},
};
use vestibule_api::config::ApiConfig;
use vestibule_line::{ClaimOutcome, EnterOutcome, EntryLine, LeaveReason};
use vestibule_tests::{
    edge::{Ask, EdgeUnderTest, entry, local, queue},
    lines::visitor,
};

use crate::{enters, full};

const SEEDS: u64 = 4;
/// As many are in line or inside at any moment.
const VISITORS: u64 = 25;
/// The time that passes in one run, none of which the test takes.
const DAY: Duration = Duration::from_mins(20);
/// How late a poll may be.
const POLL_DELAY_MS: u64 = 1_500;
/// How late the claim may be after the poll that found the turn: together within a third of the least `claim_seconds`.
const CLAIM_DELAY_MS: u64 = 1_200;

/// What became of the visitors of a run.
#[derive(Debug, Default)]
struct Outcome {
    claimed: u64,
    lost: u64,
    polls: u64,
    /// Polls by which a visitor came back after `claim_seconds` were lowered below what they had been told by.
    surprised: u64,
    longest_ms: u64,
}

/// One run, as its visitors and its operator see it.
struct Scene {
    edge: EdgeUnderTest,
    outcome: RefCell<Outcome>,
    /// How often an operator lowered `claim_seconds` so far.
    lowered: RefCell<u64>,
    /// What the told time is multiplied by: whoever keeps to it comes after once that time.
    patience: f64,
    end: Instant,
}

#[tokio::test]
async fn whoever_comes_back_when_told_never_loses_a_turn() {
    let mut sum = Outcome::default();
    for seed in 1..=SEEDS {
        let outcome = run(seed, 1.0).await;
        assert_eq!(outcome.lost, 0, "seed {seed}: {outcome:?}");
        sum.claimed += outcome.claimed;
        sum.polls += outcome.polls;
        sum.surprised += outcome.surprised;
        sum.longest_ms = sum.longest_ms.max(outcome.longest_ms);
    }
    println!("{sum:?}");
    assert!(
        sum.claimed > SEEDS * 50 && sum.surprised > SEEDS * 100 && sum.longest_ms > 40_000,
        "nothing much happened: {sum:?}"
    );
}

/// Shows that the run can tell.
#[tokio::test]
async fn whoever_comes_back_later_does_lose_turns() {
    let outcome = run(1, 6.0).await;
    assert!(outcome.lost > 5, "{outcome:?}");
}

async fn run(seed: u64, patience: f64) -> Outcome {
    let config = ApiConfig {
        // Most are told when to come back.
        held_polls_max: 3,
        ..local()
    };
    let edge = EdgeUnderTest::with(config, Value::Object(settings(60, 1, 5, false))).await;
    // Only the time of the line and of the edge: what the backup does takes its own.
    pause();
    edge.clock.start_running();
    let scene = Rc::new(Scene {
        edge,
        outcome: RefCell::default(),
        lowered: RefCell::default(),
        patience,
        end: Instant::now() + DAY,
    });
    let mut rng = StdRng::seed_from_u64(seed);
    LocalSet::new()
        .run_until(async {
            let mut all = JoinSet::new();
            all.spawn_local(operator(scene.clone(), StdRng::from_rng(&mut rng)));
            all.spawn_local(promoter(scene.clone(), StdRng::from_rng(&mut rng)));
            for number in 1..=VISITORS {
                all.spawn_local(visitors(scene.clone(), number, StdRng::from_rng(&mut rng)));
            }
            while let Some(ended) = all.join_next().await {
                ended.expect("nobody fails");
            }
        })
        .await;
    resume();
    scene.outcome.take()
}

fn settings(claim_seconds: u32, batch: u32, interval_seconds: u32, paused: bool) -> Map<String, Value> {
    let settings = json!({
        "capacity": 1_000, "session_seconds": 3_600, "claim_seconds": claim_seconds, "batch": batch,
        "interval_seconds": interval_seconds, "paused": paused,
    });
    settings.as_object().expect("an object").clone()
}

/// Turns everything, and `claim_seconds` several times within one of the intervals that visitors were told.
async fn operator(scene: Rc<Scene>, mut rng: StdRng) {
    let (mut claim_seconds, mut batch, mut interval_seconds, mut paused) = (60, 1, 5, false);
    let mut revision = 0;
    while Instant::now() < scene.end {
        match rng.random_range(0..8) {
            0 if !paused => paused = true,
            0..=2 => paused = false,
            3..=6 => {
                let next = [10, 11, 15, 30, 60, 90][rng.random_range(0..6)];
                if next < claim_seconds {
                    *scene.lowered.borrow_mut() += 1;
                }
                claim_seconds = next;
            }
            // At times it hardly moves, and at times all are called at once.
            _ => {
                (batch, interval_seconds) = [(1, 60), (1, 20), (1, 5), (50, 1)][rng.random_range(0..4)];
            }
        }
        revision += 1;
        let settings = settings(claim_seconds, batch, interval_seconds, paused);
        scene
            .edge
            .configure(Value::Object(settings), &revision.to_string())
            .await;
        let until_next_ms = match rng.random_range(0..3) {
            0 => rng.random_range(0..1_500),
            _ => rng.random_range(1_500..25_000),
        };
        sleep(Duration::from_millis(until_next_ms)).await;
    }
}

async fn promoter(scene: Rc<Scene>, mut rng: StdRng) {
    while Instant::now() < scene.end {
        scene.edge.promote().await;
        let until_next_ms = match rng.random_range(0..50) {
            0 => rng.random_range(5_000..30_000),
            _ => rng.random_range(200..1_500),
        };
        sleep(Duration::from_millis(until_next_ms)).await;
    }
}

/// One visitor after the other.
async fn visitors(scene: Rc<Scene>, number: u64, mut rng: StdRng) {
    for nth in 0.. {
        visit(&scene, nth * VISITORS + number, &mut rng).await;
        if Instant::now() > scene.end {
            return;
        }
    }
}

async fn visit(scene: &Scene, number: u64, rng: &mut StdRng) {
    let id = visitor(number);
    let place = entry(&id.to_string());
    let entered = scene.edge.line.enter(&queue(), id).await.expect("entered");
    assert!(matches!(entered, EnterOutcome::Joined { .. }));
    while Instant::now() < scene.end {
        let wait = [0, 0, 3, 10][rng.random_range(0..4)];
        let answer = scene.edge.send(Ask::get(format!("{place}?wait={wait}"))).await;
        scene.outcome.borrow_mut().polls += 1;
        match answer.body["state"].as_str() {
            Some("waiting") => scene.sleeps(answer.number("retry_after_ms"), rng).await,
            Some("ready") => {
                sleep(Duration::from_millis(rng.random_range(0..=CLAIM_DELAY_MS))).await;
                scene.claims(number).await;
                break;
            }
            // On the fast track.
            Some("active") => break,
            // Over; or it says that somebody is to look again, since no backup knows of these visitors.
            _ => {
                scene.outcome.borrow_mut().lost += 1;
                return;
            }
        }
    }
    sleep(Duration::from_millis(rng.random_range(500..5_000))).await;
    let at = queue();
    let departed = scene.edge.line.leave(&at, id, None, LeaveReason::Complete);
    departed.await.expect("done");
}

impl Scene {
    /// The visitor comes back when told, more or less.
    async fn sleeps(&self, told_ms: u64, rng: &mut StdRng) {
        let lowered = *self.lowered.borrow();
        #[allow(clippy::cast_precision_loss)]
        let told = Duration::from_secs_f64(told_ms as f64 / 1_000.0 * self.patience);
        sleep(told + Duration::from_millis(rng.random_range(0..=POLL_DELAY_MS))).await;
        let mut outcome = self.outcome.borrow_mut();
        outcome.longest_ms = outcome.longest_ms.max(told_ms);
        outcome.surprised += u64::from(*self.lowered.borrow() > lowered);
    }

    async fn claims(&self, number: u64) {
        let claimed = self.edge.line.claim(&queue(), visitor(number)).await;
        let mut outcome = self.outcome.borrow_mut();
        match claimed.expect("claim") {
            ClaimOutcome::Active { .. } => outcome.claimed += 1,
            _ => outcome.lost += 1,
        }
    }
}

/// The view is a second old when the settings change in the line: whoever is told by it comes in time all the same.
#[tokio::test]
async fn a_visitor_who_was_told_by_old_settings_has_the_time_of_old() {
    let slow = json!({ "interval_seconds": 3_600, "claim_seconds": 60 });
    let edge = full(slow).await;
    let (guest, _) = enters(&edge).await;
    let place = entry(&guest.token);
    edge.send(Ask::get(place.clone())).await.is(200);
    let quick = json!({ "interval_seconds": 1, "claim_seconds": 10, "capacity": 100, "batch": 10 });
    edge.configure(quick, "2").await;
    let told = edge.send(Ask::get(place.clone())).await;
    assert!(
        told.number("retry_after_ms") > 20_000,
        "by the old settings: {told:?}"
    );

    edge.pass_seconds(1);
    assert_eq!(edge.promote().await.promoted, 1);
    let returns_ms = told.number("retry_after_ms") + POLL_DELAY_MS;
    edge.clock.advance(Duration::from_millis(returns_ms));
    assert_eq!(edge.promote().await.no_shows, 0);
    let claim = Ask::post(format!("{place}/claim")).visitor(&guest.id);
    assert_eq!(edge.send(claim).await.is(200).text("state"), "active");
}

/// Two thirds of `claim_seconds` count from the moment at which the settings were read.
#[tokio::test]
async fn the_age_of_a_view_is_not_added_to_what_it_promises() {
    let edge = full(json!({ "interval_seconds": 3_600, "claim_seconds": 60 })).await;
    let (guest, _) = enters(&edge).await;
    pause();
    edge.clock.start_running();
    let mut told_ms = Vec::new();
    for _ in 0..40 {
        // Views live for a second, so this one is new.
        advance(Duration::from_secs(2)).await;
        edge.send(Ask::get(entry(&guest.token))).await.is(200);
        advance(Duration::from_millis(900)).await;
        let answer = edge.send(Ask::get(entry(&guest.token))).await;
        told_ms.push(answer.is(200).number("retry_after_ms"));
    }
    assert!(
        told_ms.iter().all(|ms| (20_000..=39_100).contains(ms)),
        "{told_ms:?}"
    );
}
