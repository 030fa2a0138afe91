//! The functions of a deployment, each in one process, which serves one request after the other as on Lambda.

use std::{collections::BTreeMap, env, fs, time::Duration};

use axum::http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;
use vestibule_crowd::{
    door::Door as _,
    http::{HeaderProof, HttpDoor},
};
use vestibule_domain::{queue_state::QueueState, state::EntryState};
use vestibule_tests::{
    functions::{API_KEY, Deployment, DeploymentConfig},
    lambda::{Function, Lambda},
    processor_time::process_seconds,
};

use super::guest::{Guest, Kind, open_door, say};
use crate::{
    BenchResult,
    figures::{as_f64, print_figure},
    size::Size,
};

/// The visitors at the head may be called, and their polls cost more. So many are left out.
const HEAD: usize = 300;
/// A function has served so many requests before it is measured.
const WARM_UP: usize = 50;
/// How long the promoter runs to let all in.
const PROMOTER_RUN: Duration = Duration::from_secs(10);
/// Those who wait for their turn poll in rounds, with a pause between.
const ROUND_PAUSE: Duration = Duration::from_millis(500);
const TURN_ROUNDS: usize = 100;
/// An event of the function `status`.
const POLL_EVENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/events/http-status.json");
/// The least requests to the empty function. The processor time is counted in hundredths of a second.
const EMPTY_REQUESTS_MIN: usize = 1_000;
/// The longest that the empty function may take.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// What the template lets the functions log. The spans of requests cost time, although most requests log nothing.
const LOGGED: [&str; 2] = ["RUST_LOG", "info,lambda_runtime=warn"];

/// The deployment, and what measures it.
struct Bench {
    deployment: Deployment,
    door: HttpDoor,
    queue: String,
    /// All but those at the head.
    guests: Vec<Guest>,
    head: Vec<Guest>,
    /// The processor time of a request to the empty function, in milliseconds.
    empty_ms: f64,
}

/// Sends each kind of request for this many visitors.
pub(crate) async fn measure(visitor_count: usize, size: Size) -> BenchResult {
    let empty_ms = measure_empty_function(visitor_count.max(EMPTY_REQUESTS_MIN)).await?;
    let mut bench = Bench::open(empty_ms).await?;
    bench.enter(visitor_count, size.count(HEAD)).await?;
    bench.measure("poll", "status", Kind::Poll).await?;
    bench.measure_document().await?;
    bench.let_all_in().await?;
    bench.measure("claim", "claim", Kind::Claim).await?;
    bench.measure("validate", "validate", Kind::Validate).await?;
    bench.measure("complete", "validate", Kind::Complete).await
}

/// Measures a function that does nothing, with the event of a poll.
async fn measure_empty_function(requests: usize) -> BenchResult<f64> {
    let event: Value = serde_json::from_str(&fs::read_to_string(POLL_EVENT)?)?;
    let lambda = Lambda::new([Function {
        name: "empty",
        program: env::current_exe()?.with_file_name("empty_function"),
        variables: BTreeMap::from([LOGGED.map(str::to_owned).into()]),
        timeout: WAIT_MAX,
        environments_max: 1,
    }]);
    let mut begun = 0.0;
    for number in 0..WARM_UP + requests {
        if number == WARM_UP {
            begun = read_seconds(&lambda, "empty")?;
        }
        lambda
            .invoke("empty", &event)
            .await
            .map_err(|error| format!("the empty function gave no answer: {error:?}"))?;
    }
    let empty_ms = (read_seconds(&lambda, "empty")? - begun) * 1e3 / as_f64(requests as u64);
    print_figure("empty_cpu_ms", empty_ms, 2);
    Ok(empty_ms)
}

/// The processor time of the process of a function so far, in seconds.
fn read_seconds(lambda: &Lambda, function: &str) -> BenchResult<f64> {
    let pids = lambda.pids(function);
    let seconds = pids.iter().map(|pid| process_seconds(&pid.to_string()));
    Ok(seconds.sum::<Result<f64, _>>()?)
}

impl Bench {
    async fn open(empty_ms: f64) -> BenchResult<Self> {
        let config = DeploymentConfig {
            environments_max: 1,
            promoter_timeout: PROMOTER_RUN,
            variables: BTreeMap::from([(LOGGED[0], LOGGED[1].to_owned())]),
            ..DeploymentConfig::default()
        };
        let deployment = Deployment::start(config).await;
        let queue = format!("bench:{}", Uuid::new_v4());
        let key = HeaderProof(
            HeaderName::from_static("x-api-key"),
            HeaderValue::from_static(API_KEY),
        );
        let bench = Self {
            door: open_door(format!("{}/queues/{queue}", deployment.url()), key)?,
            deployment,
            queue: queue.clone(),
            guests: Vec::new(),
            head: Vec::new(),
            empty_ms,
        };
        // One visitor is in, so the others wait.
        let settings = json!({
            "capacity": 1, "batch": 1, "interval_seconds": 3_600, "claim_seconds": 600, "session_seconds": 3_600,
        });
        bench
            .order(json!({ "op": "create", "queue": queue, "settings": settings }))
            .await?;
        Ok(bench)
    }

    /// Lets visitors enter, and measures those who are not at the head.
    async fn enter(&mut self, visitor_count: usize, head: usize) -> BenchResult {
        for _ in 0..head {
            self.head.push(Guest::enter(&self.door).await?);
        }
        let mut begun = 0.0;
        for number in 0..WARM_UP + visitor_count {
            if number == WARM_UP {
                begun = read_seconds(&self.deployment.lambda, "enter")?;
            }
            self.guests.push(Guest::enter(&self.door).await?);
        }
        let seconds = read_seconds(&self.deployment.lambda, "enter")? - begun;
        self.print("enter", seconds, visitor_count);
        Ok(())
    }

    /// Sends a kind of request for the visitors that are measured, to this function.
    async fn measure(&self, name: &str, function: &str, kind: Kind) -> BenchResult {
        self.measure_each(name, function, async |guest| guest.send(&self.door, kind).await)
            .await
    }

    async fn measure_document(&self) -> BenchResult {
        self.measure_each("document", "document", async |_| {
            let document = self.door.document().await.map_err(say("document"))?;
            if document.state == QueueState::Open {
                Ok(())
            } else {
                Err(format!("the queue is {:?}", document.state).into())
            }
        })
        .await
    }

    async fn measure_each(
        &self,
        name: &str,
        function: &str,
        send: impl AsyncFn(&Guest) -> BenchResult,
    ) -> BenchResult {
        let mut begun = 0.0;
        for (number, guest) in self.guests.iter().enumerate() {
            if number == WARM_UP {
                begun = read_seconds(&self.deployment.lambda, function)?;
            }
            send(guest).await?;
        }
        let seconds = read_seconds(&self.deployment.lambda, function)? - begun;
        self.print(name, seconds, self.guests.len() - WARM_UP);
        Ok(())
    }

    /// Lets all visitors in while they poll, because the line waits for those who are called.
    async fn let_all_in(&self) -> BenchResult {
        let room = (self.guests.len() + self.head.len()) * 2;
        let settings = json!({ "capacity": room, "batch": room, "interval_seconds": 1 });
        // So much more room must be confirmed.
        let (queue, epoch) = (&self.queue, 1);
        self.order(
            json!({ "op": "update", "queue": queue, "settings": settings, "confirm": queue, "epoch": epoch }),
        )
        .await?;
        let lambda = self.deployment.lambda.clone();
        let promoting = tokio::spawn(async move {
            let event = json!({ "source": "aws.events", "detail-type": "Scheduled Event", "detail": {} });
            loop {
                // The next run follows, as on the schedule.
                let _ = lambda.invoke("promoter", &event).await;
            }
        });
        let mut waiting: Vec<&Guest> = self.head.iter().chain(&self.guests).collect();
        for _ in 0..TURN_ROUNDS {
            let mut still_waiting = Vec::new();
            for guest in waiting {
                if guest.poll(&self.door).await? == EntryState::Waiting {
                    still_waiting.push(guest);
                }
            }
            waiting = still_waiting;
            if waiting.is_empty() {
                promoting.abort();
                return Ok(());
            }
            sleep(ROUND_PAUSE).await;
        }
        Err(format!("{} visitors were not let in", waiting.len()).into())
    }

    async fn order(&self, order: Value) -> Result<(), String> {
        let answer = self.deployment.run_command(&order).await;
        if answer["ok"] == true {
            Ok(())
        } else {
            Err(format!("{order} was answered {answer}"))
        }
    }

    /// Prints the processor time of a request, also relative to the empty function.
    fn print(&self, name: &str, seconds: f64, requests: usize) {
        let cpu_ms = seconds * 1e3 / as_f64(requests as u64);
        print_figure(format!("{name}_cpu_ms"), cpu_ms, 2);
        print_figure(format!("{name}_vs_empty"), cpu_ms / self.empty_ms, 1);
    }
}
