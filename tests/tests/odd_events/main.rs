//! Whatever an event holds, no function panics or ends. The suite feeds generated events to the functions' binaries.
//!
//! The events are the same in each run, so that a failure repeats. `PROPTEST_RNG_SEED` selects others, and
//! `PROPTEST_CASES` more of them. The output names the seed.

mod answers;
mod client_context;
mod events;
mod values;

use std::{env, time::Duration};

use axum::body::Bytes;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngSeed, TestRunner},
};
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::{
    api::{ApiRequest, send},
    functions::{Deployment, DeploymentConfig},
    lambda::{InvocationError, Order},
};

use self::events::Place;

/// The seed of every run that is given no other.
const SEED: u64 = 41;
/// The number of events for each function.
const CASES: u32 = 150;
/// A run of the promoter lasts until two seconds before its timeout.
const PROMOTER_TIMEOUT: Duration = Duration::from_millis(2_200);
/// The number of events for the promoter.
const PROMOTER_CASES: u32 = 8;

/// The longest part of an event that a failure shows.
const SHOWN_CHARS_MAX: usize = 4_000;

/// Says what is wrong with an answer.
type Check = fn(&Result<Value, InvocationError>) -> Result<(), String>;

/// A deployment with one environment for each function, and an entry that the events name.
struct Stage {
    deployment: Deployment,
    place: Place,
}

impl Stage {
    async fn open() -> Self {
        let deployment = Deployment::start(DeploymentConfig {
            environments_max: 1,
            promoter_timeout: PROMOTER_TIMEOUT,
            status_timeout: Duration::from_secs(10),
            ..DeploymentConfig::default()
        })
        .await;
        let queue = format!("test:{}", Uuid::new_v4());
        let created = deployment
            .run_command(&json!({ "op": "create", "queue": queue }))
            .await;
        assert_eq!(created["ok"], true, "{created}");
        let visitor = Uuid::new_v4().to_string();
        let enter = ApiRequest::post(format!("/queues/{queue}/entries")).visitor(&visitor);
        let entered = send(&reqwest::Client::new(), deployment.url(), enter).await;
        let token = entered.expect_status(201).text("token").to_owned();
        Self {
            deployment,
            place: Place {
                queue,
                token,
                visitor,
            },
        }
    }

    async fn check_answer(&self, function: &str, event: String, check: Check) {
        let lambda = &self.deployment.lambda;
        let shown: String = event.chars().take(SHOWN_CHARS_MAX).collect();
        let order = Order {
            payload: Bytes::from(event),
            client_context: None,
            ..Order::default()
        };
        let answer = lambda.invoke_with(function, order).await;
        if let Err(reason) = check(&answer) {
            panic!("{function}: {reason}: {answer:?} for {shown}");
        }
        assert!(
            !lambda.has_logged(function, "panicked"),
            "{function} panicked for {shown}"
        );
    }

    /// Sends `cases` events to a function, and checks each answer. The process must be the same to the end.
    async fn feed(&self, function: &str, cases: u32, events: impl Strategy<Value = String>, check: Check) {
        let config = proptest_config(cases);
        println!("{function}: seed {:?}, {} events", config.rng_seed, config.cases);
        let cases = config.cases;
        let mut runner = TestRunner::new(config);
        for _ in 0..cases {
            let event = events.new_tree(&mut runner).expect("an event").current();
            self.check_answer(function, event, check).await;
        }
        assert_eq!(
            self.deployment.lambda.started_count(function),
            1,
            "{function} ended"
        );
    }
}

fn proptest_config(cases: u32) -> Config {
    let defaults = Config::default();
    Config {
        cases: match env::var_os("PROPTEST_CASES") {
            Some(_) => defaults.cases,
            None => cases,
        },
        rng_seed: match defaults.rng_seed {
            RngSeed::Random => RngSeed::Fixed(SEED),
            fixed @ RngSeed::Fixed(_) => fixed,
        },
        failure_persistence: None,
        ..defaults
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_with_routes_answer_every_event_with_http() {
    let stage = Stage::open().await;
    let feed = async |function| {
        for event in events::with_too_many_headers(&stage.place) {
            stage.check_answer(function, event, answers::is_http).await;
        }
        let events = events::of_the_gateway(&stage.place, function);
        stage.feed(function, CASES, events, answers::is_http).await;
    };
    tokio::join!(
        feed("document"),
        feed("enter"),
        feed("claim"),
        feed("status"),
        feed("validate")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authorizer_answers_every_event() {
    let stage = Stage::open().await;
    let events = events::of_an_authorizer(&stage.place);
    stage
        .feed("authorizer", CASES, events, answers::is_of_an_authorizer)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admin_answers_every_command() {
    let stage = Stage::open().await;
    let commands = events::of_an_operator(&stage.place);
    stage.feed("admin", CASES, commands, answers::is_of_admin).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn widget_answers_every_call() {
    let stage = Stage::open().await;
    let calls = events::of_a_dashboard(&stage.place);
    stage
        .feed("widget", CASES, calls, answers::is_of_the_widget)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoter_runs_at_every_event() {
    let stage = Stage::open().await;
    let events = events::of_a_schedule();
    stage
        .feed("promoter", PROMOTER_CASES, events, answers::is_of_the_promoter)
        .await;
}
