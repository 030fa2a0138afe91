//! A visitor who returns after `retry_after_ms` never misses a turn. An operator may change the settings meanwhile,
//! and the snapshot that gave the time may be old.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Map, Value, json};
use tokio::{
    task::{JoinSet, LocalSet},
    time::{Instant, advance, pause, resume, sleep},
};
use vestibule_api::config::ApiConfig;
use vestibule_domain::id::EntryId;
use vestibule_line::{Arrival, ClaimOutcome, EnterOutcome, LeaveReason};
use vestibule_tests::in_process::{
    ApiRequest, InProcessApi, anonymous_visitor, entry_path, local_config, queue_id,
};

use super::{enter_and_expect_created, start_full_queue};

super::cases![
    a_visitor_who_returns_when_told_never_loses_a_turn,
    a_visitor_who_returns_later_loses_turns,
    a_visitor_told_by_old_settings_has_the_old_time,
    the_age_of_a_snapshot_shortens_the_retry_time,
];

const SEEDS: u64 = 4;
/// This many visitors are in line or active at any moment.
const VISITORS: u64 = 25;
/// The simulated time of one run.
const RUN_TIME: Duration = Duration::from_mins(20);
/// How late a poll may be.
const POLL_DELAY_MS: u64 = 1_500;
/// How late a claim may be after the poll that finds the visitor ready. Both delays together stay within a third of the
/// shortest `claim_seconds`.
const CLAIM_DELAY_MS: u64 = 1_200;

/// The outcome of a run.
#[derive(Debug, Default)]
struct Outcome {
    claimed: u64,
    lost: u64,
    polls: u64,
    /// Polls of visitors for whom an operator lowered `claim_seconds` while they were away.
    surprised: u64,
    longest_ms: u64,
}

/// The state that the visitors, the operator and the promoter of a run share.
struct Scene {
    api: InProcessApi,
    outcome: RefCell<Outcome>,
    /// How often the operator has lowered `claim_seconds`.
    lowered: RefCell<u64>,
    /// Visitors return after `retry_after_ms` times this factor.
    patience: f64,
    end: Instant,
}

async fn a_visitor_who_returns_when_told_never_loses_a_turn() {
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
        "the runs tested too little: {sum:?}"
    );
}

/// Shows that a run detects lost turns.
async fn a_visitor_who_returns_later_loses_turns() {
    let outcome = run(1, 6.0).await;
    assert!(outcome.lost > 5, "{outcome:?}");
}

async fn run(seed: u64, patience: f64) -> Outcome {
    let config = ApiConfig {
        // Most polls are not held, so their responses say when to return.
        held_polls_max: 3,
        ..local_config()
    };
    let api = InProcessApi::start_with_config(config, Value::Object(settings(60, 1, 5, false))).await;
    // Pauses the time of the line and of the routes. The backup takes real time.
    pause();
    api.clock.start_running();
    let scene = Rc::new(Scene {
        api,
        outcome: RefCell::default(),
        lowered: RefCell::default(),
        patience,
        end: Instant::now() + RUN_TIME,
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
                ended.expect("no task fails");
            }
        })
        .await;
    resume();
    scene.outcome.take()
}

fn settings(claim_seconds: u32, batch: u32, interval_seconds: u32, paused: bool) -> Map<String, Value> {
    let settings = json!({
        "presence_seconds": 0,
        "capacity": 1_000, "session_seconds": 3_600, "claim_seconds": claim_seconds, "batch": batch,
        "interval_seconds": interval_seconds, "paused": paused,
    });
    settings.as_object().expect("an object").clone()
}

/// Changes all settings, and `claim_seconds` several times while a visitor is away.
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
            // Sometimes the line hardly moves, and sometimes all visitors are promoted at once.
            _ => {
                (batch, interval_seconds) = [(1, 60), (1, 20), (1, 5), (50, 1)][rng.random_range(0..4)];
            }
        }
        revision += 1;
        let settings = settings(claim_seconds, batch, interval_seconds, paused);
        scene
            .api
            .configure_line(Value::Object(settings), &revision.to_string())
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
        scene.api.promote().await;
        let until_next_ms = match rng.random_range(0..50) {
            0 => rng.random_range(5_000..30_000),
            _ => rng.random_range(200..1_500),
        };
        sleep(Duration::from_millis(until_next_ms)).await;
    }
}

/// Runs one visit after the other.
async fn visitors(scene: Rc<Scene>, number: u64, mut rng: StdRng) {
    for nth in 0.. {
        visit(&scene, nth * VISITORS + number, &mut rng).await;
        if Instant::now() > scene.end {
            return;
        }
    }
}

async fn visit(scene: &Scene, number: u64, rng: &mut StdRng) {
    let (visitor, id) = anonymous_visitor(number);
    let place = entry_path(&id.to_string());
    let entered = scene
        .api
        .line
        .enter(&queue_id(), id, Arrival::Ordinary)
        .await
        .expect("entered");
    assert!(matches!(entered, EnterOutcome::Joined { .. }));
    while Instant::now() < scene.end {
        let wait = [0, 0, 3, 10][rng.random_range(0..4)];
        let response = scene
            .api
            .send(ApiRequest::get(format!("{place}?wait={wait}")).visitor(&visitor))
            .await;
        scene.outcome.borrow_mut().polls += 1;
        match response.body["state"].as_str() {
            Some("waiting") => {
                scene
                    .sleep_until_retry(response.number("retry_after_ms"), rng)
                    .await;
            }
            Some("ready") => {
                sleep(Duration::from_millis(rng.random_range(0..=CLAIM_DELAY_MS))).await;
                scene.claim(id).await;
                break;
            }
            // The visitor found room and is active at once.
            Some("active") => break,
            // The visit has ended, or the response asks to retry because the backup holds no record of these visitors.
            _ => {
                scene.outcome.borrow_mut().lost += 1;
                return;
            }
        }
    }
    sleep(Duration::from_millis(rng.random_range(500..5_000))).await;
    let at = queue_id();
    let departed = scene.api.line.leave(&at, id, None, LeaveReason::Complete);
    departed.await.expect("done");
}

impl Scene {
    /// Sleeps for the time that the response gave, plus a random delay.
    async fn sleep_until_retry(&self, retry_after_ms: u64, rng: &mut StdRng) {
        let lowered = *self.lowered.borrow();
        #[allow(clippy::cast_precision_loss)]
        let retry_after = Duration::from_secs_f64(retry_after_ms as f64 / 1_000.0 * self.patience);
        sleep(retry_after + Duration::from_millis(rng.random_range(0..=POLL_DELAY_MS))).await;
        let mut outcome = self.outcome.borrow_mut();
        outcome.longest_ms = outcome.longest_ms.max(retry_after_ms);
        outcome.surprised += u64::from(*self.lowered.borrow() > lowered);
    }

    async fn claim(&self, id: EntryId) {
        let claimed = self.api.line.claim(&queue_id(), id).await;
        let mut outcome = self.outcome.borrow_mut();
        match claimed.expect("claim") {
            ClaimOutcome::Active { .. } => outcome.claimed += 1,
            _ => outcome.lost += 1,
        }
    }
}

/// The cached snapshot still has the old settings when the line has the new ones. A visitor who returns by the old
/// settings is in time all the same.
async fn a_visitor_told_by_old_settings_has_the_old_time() {
    let slow = json!({ "interval_seconds": 3_600, "claim_seconds": 60 });
    let api = start_full_queue(slow).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let place = entry_path(&guest.token);
    api.send(ApiRequest::get(place.clone()).visitor(&guest.id))
        .await
        .expect_status(200);
    let quick = json!({ "interval_seconds": 1, "claim_seconds": 10, "capacity": 100, "batch": 10 });
    api.configure_line(quick, "2").await;
    let waiting = api.send(ApiRequest::get(place.clone()).visitor(&guest.id)).await;
    assert!(
        waiting.number("retry_after_ms") > 20_000,
        "by the old settings: {waiting:?}"
    );

    api.advance_seconds(1);
    assert_eq!(api.promote().await.promoted, 1);
    let returns_ms = waiting.number("retry_after_ms") + POLL_DELAY_MS;
    api.clock.advance(Duration::from_millis(returns_ms));
    assert_eq!(api.promote().await.no_shows, 0);
    let claim = ApiRequest::post(format!("{place}/claim")).visitor(&guest.id);
    assert_eq!(api.send(claim).await.expect_status(200).text("state"), "active");
}

/// Two thirds of `claim_seconds` count from the time at which the settings were read.
async fn the_age_of_a_snapshot_shortens_the_retry_time() {
    let api = start_full_queue(json!({ "interval_seconds": 3_600, "claim_seconds": 60 })).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    pause();
    api.clock.start_running();
    let mut retry_after_ms = Vec::new();
    for _ in 0..40 {
        // A snapshot is cached for a second, so this one is new.
        advance(Duration::from_secs(2)).await;
        api.send(guest.status()).await.expect_status(200);
        advance(Duration::from_millis(900)).await;
        let response = api.send(guest.status()).await;
        retry_after_ms.push(response.expect_status(200).number("retry_after_ms"));
    }
    assert!(
        retry_after_ms.iter().all(|ms| (20_000..=39_100).contains(ms)),
        "{retry_after_ms:?}"
    );
}
