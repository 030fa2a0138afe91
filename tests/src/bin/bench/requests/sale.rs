//! A whole sale through the runner with a real Redis, each step of all visitors as fast as it goes. What a visitor costs
//! Redis is compared with what a plan assumes. Only at full speed has Redis always work: at rest, most of its processor time
//! is spent on waking up.

use std::{future::Future, iter, time::Duration};

use futures_util::future::try_join_all;
use redis::aio::MultiplexedConnection;
use serde_json::json;
use tokio::time::sleep;
use vestibule_crowd::http::{HttpDoor, NoProof};
use vestibule_domain::state::EntryState;
use vestibule_sizing::ceilings::{LANE_COST, POLL_COST, PROMOTION_COST, Route};
use vestibule_tests::{processor_time::redis_seconds, runner::Runner};

use super::guest::{Guest, Kind, open_door};
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
struct Sender {
    door: HttpDoor,
    guests: Vec<Guest>,
    /// The requests of the step.
    sent: u32,
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
        senders: open_senders(&runner, context.size.count(HEAD)).await?,
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
    senders: Vec<Sender>,
    /// The visitors of each sender.
    visitors_each: u32,
}

/// Creates the queue, lets those at its head enter, and opens a connection for each sender.
async fn open_senders(runner: &Runner, head: u32) -> BenchResult<Vec<Sender>> {
    // One visitor is in, so the others wait.
    let settings = json!({
        "capacity": 1, "batch": 1, "interval_seconds": 3_600, "claim_seconds": 600, "session_seconds": 3_600,
    });
    let create = json!({ "op": "create", "queue": QUEUE, "settings": settings });
    runner.run_command(create).await;
    let open = || {
        BenchResult::Ok(Sender {
            door: open_door(runner.url(&format!("/queues/{QUEUE}")), NoProof)?,
            guests: Vec::new(),
            sent: 0,
        })
    };
    open()?.enter(head).await?;
    (0..CONNECTIONS).map(|_| open()).collect()
}

impl Sale<'_> {
    /// Each step of all visitors, from entering to the end.
    async fn run(&mut self) -> BenchResult<[Step; 6]> {
        let (each, enter_cost) = (self.visitors_each, Route::Enter.slot_cost() + LANE_COST);
        let entering = self
            .step("enter", enter_cost, |sender| sender.enter(each))
            .await?;
        let looking = self.step("poll", Route::Status.slot_cost(), Sender::look).await?;

        let room = self.visitors() * 2;
        let settings = json!({ "capacity": room, "batch": room, "interval_seconds": 1 });
        // So much more room must be confirmed.
        let update =
            json!({ "op": "update", "queue": QUEUE, "settings": settings, "confirm": QUEUE, "epoch": 1 });
        self.runner.run_command(update).await;
        // The queue has the settings with the next tick.
        sleep(Duration::from_secs(2)).await;
        let mut called = self
            .step("called_poll", Route::Status.slot_cost(), Sender::await_turns)
            .await?;
        called.planned_polls += in_polls(PROMOTION_COST);

        let claiming = self
            .step("claim", Route::Claim.slot_cost(), Sender::claim)
            .await?;
        let validating = self
            .step("validate", Route::Validate.slot_cost(), Sender::validate)
            .await?;
        let completing = self
            .step("complete", Route::Complete.slot_cost(), Sender::complete)
            .await?;
        Ok([entering, looking, called, claiming, validating, completing])
    }

    fn visitors(&self) -> u32 {
        self.visitors_each * CONNECTIONS
    }

    /// Lets all senders do a step, and measures it.
    async fn step<W: Future<Output = BenchResult<Sender>>>(
        &mut self,
        name: &'static str,
        planned_cost: u64,
        work: impl Fn(Sender) -> W,
    ) -> BenchResult<Step> {
        let before = redis_seconds(&mut self.redis).await?;
        self.senders = try_join_all(self.senders.drain(..).map(work)).await?;
        let seconds = redis_seconds(&mut self.redis).await? - before;
        let sent: u32 = self
            .senders
            .iter_mut()
            .map(|sender| std::mem::take(&mut sender.sent))
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

impl Sender {
    async fn enter(mut self, visitors: u32) -> BenchResult<Self> {
        for _ in 0..visitors {
            self.guests.push(Guest::enter(&self.door).await?);
        }
        self.sent += visitors;
        Ok(self)
    }

    async fn look(self) -> BenchResult<Self> {
        self.send_each(Kind::Poll, LOOKS).await
    }

    /// Polls in rounds until all visitors have their turn.
    async fn await_turns(mut self) -> BenchResult<Self> {
        let mut waiting: Vec<&Guest> = self.guests.iter().collect();
        while !waiting.is_empty() {
            for guest in std::mem::take(&mut waiting) {
                self.sent += 1;
                if guest.poll(&self.door).await? == EntryState::Waiting {
                    waiting.push(guest);
                }
            }
            sleep(ROUND_PAUSE).await;
        }
        Ok(self)
    }

    async fn claim(self) -> BenchResult<Self> {
        self.send_each(Kind::Claim, 1).await
    }

    async fn validate(self) -> BenchResult<Self> {
        self.send_each(Kind::Validate, CHECKS).await
    }

    async fn complete(self) -> BenchResult<Self> {
        self.send_each(Kind::Complete, 1).await
    }

    /// Sends so many requests of a kind about each visitor, in rounds.
    async fn send_each(mut self, kind: Kind, times: usize) -> BenchResult<Self> {
        for guest in iter::repeat_n(&self.guests, times).flatten() {
            guest.send(&self.door, kind).await?;
            self.sent += 1;
        }
        Ok(self)
    }
}
