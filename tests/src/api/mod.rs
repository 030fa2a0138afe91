//! The API from outside, whatever is behind it: one suite, held to by every way of running Vestibule.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

mod differences;
mod operator;
mod queue;

use std::{env, future::Future, time::Duration};

use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use self::operator::Operator;
pub use self::{
    differences::Kind,
    queue::{Guest, Queue, stranger},
};
use crate::{
    edge::{Answer, Ask},
    functions::{API_KEY, Choices, Deployment, ORIGIN, fresh_tables},
    lines,
    runner::Runner,
    servers::{client_of, dynamodb_url, url},
    stack::signed,
};

/// The longest that anything here takes: a container may have to start first, and a machine may be slow.
pub const BOUND: Duration = Duration::from_mins(1);
/// A Redis database of the runners, beside those of other suites.
const REDIS_DATABASE: u8 = 14;

/// Something that answers, and somebody who may give it orders.
#[derive(Debug)]
pub struct Backend {
    /// What it is.
    pub kind: Kind,
    base: Url,
    http: Client,
    service: Option<Credential>,
    origin: Option<String>,
    operator: Operator,
    _dir: Option<TempDir>,
}

/// How the protected service proves itself.
#[derive(Debug)]
enum Credential {
    ApiKey(String),
    /// By the credentials of the environment.
    Signature,
}

/// The address of what is running already, where something is.
pub fn running() -> Option<String> {
    env::var("TEST_API_URL").ok().filter(|url| !url.is_empty())
}

impl Backend {
    /// Starts it, or finds what is running.
    pub async fn open(kind: Kind) -> Self {
        match kind {
            Kind::Runner => Self::runner(kind, Vec::new()),
            Kind::RunnerWithServers => {
                let tables = fresh_tables();
                let redis = url("TEST_REDIS_URL");
                let redis = format!("{}/{REDIS_DATABASE}", redis.trim_end_matches('/'));
                let with = ["--redis", &redis, "--dynamodb", &dynamodb_url()].map(str::to_owned);
                let of = [
                    "--queues-table",
                    &tables.queues,
                    "--entries-table",
                    &tables.entries,
                ];
                Self::runner(kind, with.into_iter().chain(of.map(str::to_owned)).collect())
            }
            Kind::Functions | Kind::FunctionsOnCluster => {
                let line = match kind {
                    Kind::FunctionsOnCluster => lines::Backend::Cluster,
                    _ => lines::Backend::Redis,
                };
                let choices = Choices {
                    line,
                    ..Choices::default()
                };
                let deployment = Deployment::start(choices).await;
                let url = deployment.url().to_owned();
                Self {
                    service: Some(Credential::ApiKey(API_KEY.to_owned())),
                    origin: Some(ORIGIN.to_owned()),
                    ..Self::at(kind, &url, Operator::Function(deployment))
                }
            }
            Kind::SamLocal | Kind::MiniStack | Kind::ApiGateway => {
                let url = running().expect("TEST_API_URL says where");
                let given = |name| env::var(name).ok().filter(|value| !value.is_empty());
                Self {
                    service: given("TEST_API_KEY")
                        .map(Credential::ApiKey)
                        .or_else(|| given("TEST_API_SIGNED").map(|_| Credential::Signature)),
                    origin: given("TEST_CORS_ORIGIN"),
                    ..Self::at(kind, &url, Operator::library().await)
                }
            }
        }
    }

    fn runner(kind: Kind, with: Vec<String>) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let arguments = ["--demo-visitors", "0"]
            .map(str::to_owned)
            .into_iter()
            .chain(with);
        let arguments: Vec<_> = arguments.collect();
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let runner = Runner::start(dir.path(), &arguments).expect("it starts");
        let url = runner.url("");
        Self {
            _dir: Some(dir),
            ..Self::at(kind, &url, Operator::Runner(runner))
        }
    }

    fn at(kind: Kind, url: &str, operator: Operator) -> Self {
        let base = format!("{}/", url.trim_end_matches('/'));
        Self {
            kind,
            base: base.parse().expect("an address"),
            // Redirects are nothing that the API has.
            http: client_of(url)
                .redirect(reqwest::redirect::Policy::none())
                .timeout(BOUND)
                .build()
                .expect("a client"),
            service: None,
            origin: None,
            operator,
            _dir: None,
        }
    }

    /// Makes a queue that nobody has had.
    pub async fn queue(&self, settings: Value) -> Queue<'_> {
        loop {
            let queue = Queue {
                backend: self,
                id: format!("test:{}", Uuid::new_v4()),
            };
            queue.order(json!({ "op": "create", "settings": settings })).await;
            // A promoter may find it in the backup before the line has it, and put it back, as after a loss: with an empty
            // bucket. Nobody would be let in at once, and which of the two it is no test here could foresee.
            let stats = queue.order(json!({ "op": "stats" })).await;
            if stats["bucket_tokens"].as_u64().expect("a number") > 0 {
                return queue;
            }
        }
    }

    /// A queue where nobody gets in before a promotion: the one place is taken, and the bucket with it. Room is made by
    /// whoever is in there going.
    pub async fn full_queue(&self, mut settings: Value) -> (Queue<'_>, Guest) {
        for (name, value) in [("capacity", 1), ("batch", 1), ("interval_seconds", 1)] {
            settings
                .as_object_mut()
                .expect("an object")
                .entry(name)
                .or_insert(value.into());
        }
        let queue = self.queue(settings).await;
        let (first, entered) = queue.enters().await;
        assert_eq!(entered.text("state"), "active");
        (queue, first)
    }

    /// Sends a request; its path is one below the stage.
    pub async fn send(&self, ask: Ask) -> Answer {
        send(&self.http, self.base.as_str(), ask).await
    }

    /// Sends a request of the protected service.
    pub async fn send_as_service(&self, ask: Ask) -> Answer {
        match &self.service {
            Some(Credential::ApiKey(key)) => self.send(ask.header("x-api-key", key)).await,
            Some(Credential::Signature) => {
                let request = request(&self.http, self.base.as_str(), ask).build();
                let signed = signed("execute-api", request.expect("a request"));
                answered(self.http.execute(signed)).await
            }
            None => self.send(ask).await,
        }
    }

    /// Follows the `Location` of an answer.
    pub async fn follow(&self, answer: &Answer) -> Answer {
        let url = self.base.join(answer.header("location")).expect("an address");
        answered(self.http.get(url).send()).await
    }

    /// Whether the gateway proves who the protected service is; on a laptop nobody does.
    pub fn guards_the_service(&self) -> bool {
        self.service.is_some()
    }

    /// An origin whose pages may call, where there is one.
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }
}

/// Sends a request to an API at this address.
pub async fn send(http: &Client, base: &str, ask: Ask) -> Answer {
    answered(request(http, base, ask).send()).await
}

fn request(http: &Client, base: &str, ask: Ask) -> RequestBuilder {
    let (method, path, headers, body) = ask.into_parts();
    // As text and not joined, so that whatever stands in the path is sent as it is.
    let url = format!("{}{path}", base.trim_end_matches('/'));
    http.request(method, url).headers(headers).body(body)
}

async fn answered(response: impl Future<Output = reqwest::Result<Response>>) -> Answer {
    let response = response.await.expect("answered");
    let (status, headers) = (response.status(), response.headers().clone());
    Answer::new(status, headers, &response.bytes().await.expect("to its end"))
}
