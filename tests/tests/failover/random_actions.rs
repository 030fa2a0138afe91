//! Sixty visitors act at random for a minute while the table fails. The line loses nothing here, so whatever the table does,
//! a visit whose end was acknowledged never comes back, and the capacity is never exceeded.

use std::{sync::Arc, time::Duration};

use rand::RngExt;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use vestibule_domain::id::QueueId;
use vestibule_faults::{Effect, Fault, RandomFault};
use vestibule_tests::{
    api::{Guest, new_visitor_id},
    in_process::{ApiRequest, ApiResponse},
    lines::Backend,
};

use crate::scene::Scene;

const VISITORS: usize = 60;
const CAPACITY: u64 = 10;
const DURATION: Duration = Duration::from_mins(1);

/// One visitor and the protected service that the visitor uses.
struct Actor {
    guest: Guest,
    state: String,
    pass: Option<String>,
    /// The latest visit whose end was acknowledged; 0 for none.
    ended_visit: u64,
    /// What was asked and answered.
    history: Vec<String>,
}

impl Actor {
    fn new(queue: &QueueId) -> Self {
        Self {
            guest: Guest {
                queue: queue.to_string(),
                id: new_visitor_id(),
                token: String::new(),
                visit: 0,
            },
            state: String::new(),
            pass: None,
            ended_visit: 0,
            history: Vec::new(),
        }
    }

    /// Acts until the time has passed.
    async fn act_until(mut self, scene: Arc<Scene>, until: Instant) -> Self {
        while Instant::now() < until {
            let action = self.draw_action();
            self.act(&scene, action).await;
            sleep(Duration::from_millis(rand::random_range(20..400))).await;
        }
        self
    }

    fn draw_action(&self) -> &'static str {
        let often: &[&'static str] = match self.state.as_str() {
            "" => &["enter", "enter", "enter", "status", "validate with pass"],
            "waiting" => &["status", "status", "status", "enter", "leave"],
            "ready" => &["claim", "claim", "claim", "enter", "validate", "leave", "status"],
            _ => &[
                "validate with pass",
                "validate",
                "status",
                "enter",
                "complete",
                "complete",
                "leave",
            ],
        };
        if self.guest.token.is_empty() {
            return "enter";
        }
        often[rand::rng().random_range(0..often.len())]
    }

    async fn act(&mut self, scene: &Scene, action: &'static str) {
        let visit = self.guest.visit;
        let of_visit = self.guest.path(&format!("?visit={visit}"));
        let request = match action {
            "enter" => Guest::enter(&self.guest.queue, &self.guest.id),
            "claim" => self.guest.claim(),
            "leave" => ApiRequest::delete(of_visit).visitor(&self.guest.id),
            "complete" => self.guest.of_service("complete", &json!({ "visit": visit })),
            "validate" => self
                .guest
                .of_service("validate", &json!({ "visitor": self.guest.id })),
            "validate with pass" => match &self.pass {
                Some(pass) => self.guest.of_service("validate", &json!({ "pass": pass })),
                None => return,
            },
            _ => self.guest.status(),
        };
        let answer = scene.send(request).await;
        self.history
            .push(format!("{action} {visit}: {} {}", answer.status, answer.body));
        self.learn(action, &answer);
    }

    /// Takes note of an answer, and panics if it shows a visit that has ended.
    fn learn(&mut self, action: &str, answer: &ApiResponse) {
        match answer.status.as_u16() {
            204 => {
                self.ended_visit = self.ended_visit.max(self.guest.visit);
                self.state.clear();
            }
            200 | 201 => {
                let visit = answer.number("visit");
                assert!(
                    visit > self.ended_visit,
                    "{action} shows visit {visit} as {}, which had ended: {:#?}",
                    answer.text("state"),
                    self.history
                );
                self.guest.visit = visit;
                answer.text("state").clone_into(&mut self.state);
                if let Value::String(token) = &answer.body["token"] {
                    self.guest.token.clone_from(token);
                }
                if let Value::String(pass) = &answer.body["pass"] {
                    self.pass = Some(pass.clone());
                }
            }
            404 | 410 => self.state.clear(),
            403 | 409 | 503 | 504 => {}
            other => panic!("{action} was answered with {other}: {:#?}", self.history),
        }
    }
}

/// Watches the line until the time has passed. Returns the largest number of taken slots.
async fn watch_capacity(scene: Arc<Scene>, until: Instant) -> u64 {
    let mut taken_max = 0;
    while Instant::now() < until {
        let view = scene.view().await;
        taken_max = taken_max.max(view.ready + view.active);
        sleep(Duration::from_millis(20)).await;
    }
    taken_max
}

async fn act_at_random(fault: RandomFault) {
    let settings = json!({
        "capacity": CAPACITY, "batch": CAPACITY, "interval_seconds": 1, "claim_seconds": 10, "session_seconds": 4,
    });
    let scene = Arc::new(Scene::open(Backend::Redis, settings).await);
    let faults = scene.backup.faults().clone();
    let actors = scene
        .with_promoters(2, async {
            faults.strike_at_random(Some(fault));
            let until = Instant::now() + DURATION;
            let watching = tokio::spawn(watch_capacity(scene.clone(), until));
            let acting: Vec<_> = (0..VISITORS)
                .map(|_| tokio::spawn(Actor::new(&scene.queue).act_until(scene.clone(), until)))
                .collect();
            let mut actors = Vec::new();
            for actor in acting {
                actors.push(actor.await.expect("no visit comes back"));
            }
            assert!(watching.await.expect("the line answers") <= CAPACITY);
            faults.strike_at_random(None);
            actors
        })
        .await;

    // The table works again. The check makes line and table agree, and still no ended visit comes back.
    scene.flush().await;
    scene.check_until_clean().await;
    let ends = actors.iter().filter(|actor| actor.ended_visit > 0).count();
    assert!(ends > VISITORS / 2, "only {ends} visitors ended a visit");
    for mut actor in actors {
        actor.act(&scene, "status").await;
        if actor.pass.is_some() {
            actor.act(&scene, "validate with pass").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_throttles_half_brings_no_visit_back() {
    let effect = Effect::Fails(Fault::Throttled);
    act_at_random(RandomFault { effect, percent: 50 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_throttles_everything_brings_no_visit_back() {
    let effect = Effect::Fails(Fault::Throttled);
    act_at_random(RandomFault { effect, percent: 100 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_answers_errors_brings_no_visit_back() {
    let effect = Effect::Fails(Fault::Unavailable);
    act_at_random(RandomFault { effect, percent: 50 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_stalls_brings_no_visit_back() {
    let effect = Effect::Stalls(500, 3_500);
    act_at_random(RandomFault { effect, percent: 50 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_loses_answers_brings_no_visit_back() {
    let effect = Effect::LosesAnswer;
    act_at_random(RandomFault { effect, percent: 50 }).await;
}
