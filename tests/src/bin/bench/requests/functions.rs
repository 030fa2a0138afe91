//! The functions of a deployment, each in one process, which serves one request after the other as on Lambda.

use std::{collections::BTreeMap, env, fs, time::Duration};

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;
use vestibule_tests::{
    functions::{API_KEY, Deployment, DeploymentConfig},
    lambda::{Function, Lambda},
    processor_time::process_seconds,
};

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

/// A visitor in the queue.
struct Visitor {
    id: String,
    token: String,
}

/// The deployment, and what measures it.
struct Bench {
    deployment: Deployment,
    http: Client,
    queue: String,
    queue_url: String,
    visitors: Vec<Visitor>,
    /// The visitors at the head.
    head: usize,
    /// The processor time of a request to the empty function, in milliseconds.
    empty_ms: f64,
}

/// A kind of request.
struct Kind {
    name: &'static str,
    function: &'static str,
    build: fn(&Bench, &Visitor) -> RequestBuilder,
    /// The status of the answer, and the state that it tells, if any.
    expected: (u16, Option<&'static str>),
}

/// Sends each kind of request for this many visitors.
pub(crate) async fn measure(visitor_count: usize, size: Size) -> BenchResult {
    let empty_ms = measure_empty_function(visitor_count.max(EMPTY_REQUESTS_MIN)).await?;
    let mut bench = Bench::open(visitor_count, size.count(HEAD), empty_ms).await?;
    bench.enter().await?;
    bench
        .measure(&Kind {
            name: "poll",
            function: "status",
            build: |bench, visitor| visitor.send_as(bench.http.get(visitor.url(bench, ""))),
            expected: (200, Some("waiting")),
        })
        .await?;
    bench
        .measure(&Kind {
            name: "document",
            function: "document",
            build: |bench, _| bench.http.get(&bench.queue_url),
            expected: (200, Some("open")),
        })
        .await?;
    bench.let_all_in().await?;
    bench
        .measure(&Kind {
            name: "claim",
            function: "claim",
            build: |bench, visitor| visitor.send_as(bench.http.post(visitor.url(bench, "/claim"))),
            expected: (200, Some("active")),
        })
        .await?;
    bench
        .measure(&Kind {
            name: "validate",
            function: "validate",
            build: |bench, visitor| visitor.send_for(bench, "/validate"),
            expected: (200, Some("active")),
        })
        .await?;
    bench
        .measure(&Kind {
            name: "complete",
            function: "validate",
            build: |bench, visitor| visitor.send_for(bench, "/complete"),
            expected: (204, None),
        })
        .await
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

impl Visitor {
    fn url(&self, bench: &Bench, path: &str) -> String {
        format!("{}/entries/{}{path}", bench.queue_url, self.token)
    }

    fn send_as(&self, request: RequestBuilder) -> RequestBuilder {
        request.header("X-Visitor-Id", &self.id)
    }

    /// A request of the protected service about this visitor.
    fn send_for(&self, bench: &Bench, path: &str) -> RequestBuilder {
        let request = bench
            .http
            .post(self.url(bench, path))
            .header("x-api-key", API_KEY);
        request.json(&json!({ "visitor": self.id }))
    }
}

impl Bench {
    async fn open(visitor_count: usize, head: usize, empty_ms: f64) -> BenchResult<Self> {
        let config = DeploymentConfig {
            environments_max: 1,
            promoter_timeout: PROMOTER_RUN,
            variables: BTreeMap::from([(LOGGED[0], LOGGED[1].to_owned())]),
            ..DeploymentConfig::default()
        };
        let deployment = Deployment::start(config).await;
        let queue = format!("bench:{}", Uuid::new_v4());
        let bench = Self {
            queue_url: format!("{}/queues/{queue}", deployment.url()),
            deployment,
            http: Client::new(),
            queue: queue.clone(),
            visitors: (0..head + WARM_UP + visitor_count)
                .map(|_| Visitor {
                    id: Uuid::new_v4().to_string(),
                    token: String::new(),
                })
                .collect(),
            head,
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

    /// Lets all visitors enter, and measures those who are not at the head.
    async fn enter(&mut self) -> BenchResult {
        let mut visitors = std::mem::take(&mut self.visitors);
        let mut begun = None;
        for (number, visitor) in visitors.iter_mut().enumerate() {
            if number == self.head + WARM_UP {
                begun = Some(read_seconds(&self.deployment.lambda, "enter")?);
            }
            let request = self.http.post(format!("{}/entries", self.queue_url));
            let answer = visitor.send_as(request).json(&json!({})).send().await?;
            let entry: Value = answer.error_for_status()?.json().await?;
            let token = entry["token"].as_str().ok_or("an entry has a token")?;
            token.clone_into(&mut visitor.token);
        }
        let (begun, ended) = (
            begun.ok_or("no visitors")?,
            read_seconds(&self.deployment.lambda, "enter")?,
        );
        let measured = visitors.len() - self.head - WARM_UP;
        self.visitors = visitors.split_off(self.head);
        self.print("enter", ended - begun, measured);
        // The others wait until all are let in.
        self.visitors.extend(visitors);
        Ok(())
    }

    /// Sends a kind of request for the visitors that are measured.
    async fn measure(&mut self, kind: &Kind) -> BenchResult {
        let measured = self.visitors.len() - self.head - WARM_UP;
        let mut begun = None;
        for (number, visitor) in self.visitors[..WARM_UP + measured].iter().enumerate() {
            if number == WARM_UP {
                begun = Some(read_seconds(&self.deployment.lambda, kind.function)?);
            }
            let answer = (kind.build)(self, visitor).send().await?;
            let status = answer.status().as_u16();
            let body = answer.text().await?;
            let state = serde_json::from_str::<Value>(&body).unwrap_or_default();
            if (status, state["state"].as_str()) != kind.expected {
                return Err(format!("{} was answered {status} {body}", kind.name).into());
            }
        }
        let ended = read_seconds(&self.deployment.lambda, kind.function)?;
        self.print(kind.name, ended - begun.ok_or("no visitors")?, measured);
        Ok(())
    }

    /// Lets all visitors in while they poll, because the line waits for those who are called.
    async fn let_all_in(&self) -> BenchResult {
        let room = self.visitors.len() * 2;
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
        let mut waiting: Vec<&Visitor> = self.visitors.iter().collect();
        for _ in 0..TURN_ROUNDS {
            let mut still_waiting = Vec::new();
            for visitor in waiting {
                let answer = visitor
                    .send_as(self.http.get(visitor.url(self, "")))
                    .send()
                    .await?;
                let entry: Value = answer.error_for_status()?.json().await?;
                if entry["state"] == "waiting" {
                    still_waiting.push(visitor);
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
