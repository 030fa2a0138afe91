//! A whole sale through the runner with a real Redis, each step of all visitors as fast as it goes. What a visitor costs
//! Redis is compared with what a plan assumes. Only at full speed has Redis always work: at rest, most of its processor time
//! is spent on waking up.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;
use vestibule_sizing::ceilings::{LANE_COST, POLL_COST, PROMOTION_COST, Route};
use vestibule_tests::{processor_time::redis_seconds, runner::Runner};

use crate::{
    BenchResult, Context,
    figures::{print_figure, ratio},
    scene::{open_redis, start_runner},
};

/// Connections of the visitors and of the service.
const CONNECTIONS: u32 = 32;
/// The visitors at the head may be called, and their polls cost more. They are not measured while all wait.
const HEAD: u32 = 400;
/// How often each visitor polls far from the head, and the service validates each who is in.
const LOOKS: usize = 4;
const CHECKS: usize = 2;
/// The pause between two rounds of polls of those who are called.
const ROUND_PAUSE: Duration = Duration::from_millis(300);
const QUEUE: &str = "bench";

/// One of those who send requests, one after the other.
#[derive(Clone)]
struct Caller {
    http: Client,
    queue_url: Arc<str>,
    visitors: Vec<Visitor>,
    /// The requests of the step.
    sent: u32,
}

#[derive(Clone)]
struct Visitor {
    id: String,
    token: String,
}

/// What a step of all visitors cost.
struct Step {
    name: &'static str,
    /// The requests of the step for each visitor.
    requests: f64,
    /// The processor time of Redis for each visitor, in seconds.
    seconds: f64,
    /// What a plan assumes for the step, in entry polls for each visitor.
    planned_polls: f64,
}

/// Sells to this many visitors, up to a multiple of the connections.
pub(crate) async fn measure(visitors: u32, context: &Context) -> BenchResult {
    let url = format!("{}/1", context.redis_url.trim_end_matches('/'));
    let (runner, _folder) = start_runner(&url)?;
    let mut sale = Sale {
        redis: open_redis(&url).await?,
        callers: open_callers(&runner, context.size.count(HEAD)).await,
        visitors_each: (visitors / CONNECTIONS).max(1),
        runner: &runner,
    };
    let steps = sale.run().await?;
    let poll = steps[1].seconds / steps[1].requests;
    print_figure("poll_redis_cpu_us", poll * 1e6, 1);
    for step in &steps {
        let name = step.name;
        print_figure(format!("{name}_vs_poll"), step.seconds / step.requests / poll, 2);
        print_figure(
            format!("{name}_vs_poll_planned"),
            step.planned_polls / step.requests,
            2,
        );
    }
    let sum = |of: fn(&Step) -> f64| steps.iter().map(of).sum::<f64>();
    let (measured, planned) = (sum(|step| step.seconds), sum(|step| step.planned_polls) * poll);
    print_figure("sale_requests_per_visitor", sum(|step| step.requests), 1);
    print_figure("limit_measured_per_second", 1.0 / measured, 0);
    print_figure("limit_planned_per_second", 1.0 / planned, 0);
    print_figure("limit_planned_vs_measured", measured / planned, 2);
    Ok(())
}

fn in_polls(cost: u64) -> f64 {
    ratio(cost, POLL_COST)
}

struct Sale<'a> {
    runner: &'a Runner,
    redis: MultiplexedConnection,
    callers: Vec<Caller>,
    /// The visitors of each caller.
    visitors_each: u32,
}

/// Creates the queue, lets those at its head enter, and connects the callers.
async fn open_callers(runner: &Runner, head: u32) -> Vec<Caller> {
    // One visitor is in, so the others wait.
    let settings = json!({
        "capacity": 1, "batch": 1, "interval_seconds": 3_600, "claim_seconds": 600, "session_seconds": 3_600,
    });
    let create = json!({ "op": "create", "queue": QUEUE, "settings": settings });
    runner.run_command(create).await;
    let caller = Caller {
        http: Client::new(),
        queue_url: runner.url(&format!("/queues/{QUEUE}")).into(),
        visitors: Vec::new(),
        sent: 0,
    };
    caller.clone().enter(head).await;
    let callers = (0..CONNECTIONS).map(|_| Caller {
        http: Client::new(),
        ..caller.clone()
    });
    callers.collect()
}

impl Sale<'_> {
    /// Each step of all visitors, from entering to the end.
    async fn run(&mut self) -> BenchResult<[Step; 6]> {
        let (each, enter_cost) = (self.visitors_each, Route::Enter.slot_cost() + LANE_COST);
        let entering = self
            .step("enter", enter_cost, |caller| caller.enter(each))
            .await?;
        let looking = self.step("poll", Route::Status.slot_cost(), Caller::look).await?;

        let room = self.visitors() * 2;
        let settings = json!({ "capacity": room, "batch": room, "interval_seconds": 1 });
        // So much more room must be confirmed.
        let update =
            json!({ "op": "update", "queue": QUEUE, "settings": settings, "confirm": QUEUE, "epoch": 1 });
        self.runner.run_command(update).await;
        // The queue has the settings with the next tick.
        sleep(Duration::from_secs(2)).await;
        let mut called = self
            .step("called_poll", Route::Status.slot_cost(), Caller::await_turns)
            .await?;
        called.planned_polls += in_polls(PROMOTION_COST);

        let claiming = self
            .step("claim", Route::Claim.slot_cost(), Caller::claim)
            .await?;
        let validating = self
            .step("validate", Route::Validate.slot_cost(), Caller::validate)
            .await?;
        let completing = self
            .step("complete", Route::Complete.slot_cost(), Caller::complete)
            .await?;
        Ok([entering, looking, called, claiming, validating, completing])
    }

    fn visitors(&self) -> u32 {
        self.visitors_each * CONNECTIONS
    }

    /// Lets all callers do a step, and measures it.
    async fn step<W: Future<Output = Caller>>(
        &mut self,
        name: &'static str,
        planned_cost: u64,
        work: impl Fn(Caller) -> W,
    ) -> BenchResult<Step> {
        let before = redis_seconds(&mut self.redis).await?;
        self.callers = join_all(self.callers.drain(..).map(work)).await;
        let seconds = redis_seconds(&mut self.redis).await? - before;
        let sent: u32 = self
            .callers
            .iter_mut()
            .map(|caller| std::mem::take(&mut caller.sent))
            .sum();
        let requests = f64::from(sent) / f64::from(self.visitors());
        Ok(Step {
            name,
            requests,
            seconds: seconds / f64::from(self.visitors()),
            planned_polls: requests * in_polls(planned_cost),
        })
    }
}

impl Caller {
    async fn enter(mut self, visitors: u32) -> Self {
        for _ in 0..visitors {
            let id = Uuid::new_v4().to_string();
            let request = self.http.post(format!("{}/entries", self.queue_url));
            let entry = self
                .send(request.header("X-Visitor-Id", &id).json(&json!({})))
                .await;
            let token = entry["token"].as_str().expect("an entry has a token").to_owned();
            self.visitors.push(Visitor { id, token });
        }
        self
    }

    async fn look(mut self) -> Self {
        for visitor in std::iter::repeat_n(self.visitors.clone(), LOOKS).flatten() {
            let state = self.poll(&visitor).await;
            assert_eq!(state, "waiting", "far from the head");
        }
        self
    }

    /// Polls in rounds until all visitors have their turn.
    async fn await_turns(mut self) -> Self {
        let mut waiting = self.visitors.clone();
        while !waiting.is_empty() {
            for visitor in std::mem::take(&mut waiting) {
                if self.poll(&visitor).await == "waiting" {
                    waiting.push(visitor);
                }
            }
            sleep(ROUND_PAUSE).await;
        }
        self
    }

    async fn claim(mut self) -> Self {
        for visitor in self.visitors.clone() {
            let request = self.http.post(self.url(&visitor, "/claim"));
            let entry = self
                .send(request.header("X-Visitor-Id", &visitor.id).json(&json!({})))
                .await;
            assert_eq!(entry["state"], "active", "a turn");
        }
        self
    }

    async fn validate(mut self) -> Self {
        for visitor in std::iter::repeat_n(self.visitors.clone(), CHECKS).flatten() {
            let entry = self.send_for_service(&visitor, "/validate").await;
            assert_eq!(entry["state"], "active", "a session");
        }
        self
    }

    async fn complete(mut self) -> Self {
        for visitor in self.visitors.clone() {
            self.send_for_service(&visitor, "/complete").await;
        }
        self
    }

    async fn poll(&mut self, visitor: &Visitor) -> String {
        let request = self.http.get(self.url(visitor, ""));
        let entry = self.send(request.header("X-Visitor-Id", &visitor.id)).await;
        entry["state"].as_str().expect("an entry has a state").to_owned()
    }

    async fn send_for_service(&mut self, visitor: &Visitor, path: &str) -> Value {
        let request = self.http.post(self.url(visitor, path));
        self.send(request.json(&json!({ "visitor": visitor.id }))).await
    }

    /// Sends a request, which must succeed.
    async fn send(&mut self, request: RequestBuilder) -> Value {
        self.sent += 1;
        let answer = request.send().await.expect("the runner answers");
        let status = answer.status();
        let body = answer.text().await.expect("the answer is complete");
        assert!(status.is_success(), "{status} {body}");
        serde_json::from_str(&body).unwrap_or_default()
    }

    fn url(&self, visitor: &Visitor, path: &str) -> String {
        format!("{}/entries/{}{path}", self.queue_url, visitor.token)
    }
}
