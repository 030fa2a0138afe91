//! A simulated crowd, so that there is a line to see: each persona goes through the real routes, in this process.

use std::time::Duration;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode, header::CONTENT_TYPE},
};
use rand::RngExt;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};
use tower::ServiceExt;
use tracing::debug;
use uuid::{Builder, Uuid};

use crate::stop::Stop;

/// The queue that the crowd goes through.
pub(crate) const QUEUE: &str = "demo:1";

/// An answer of the API is never longer.
const ANSWER_BYTES: usize = 64 * 1024;
/// One in so many of those whose turn comes does not claim it, and one in so many of those let in never says goodbye.
const NO_SHOW_ONE_IN: u32 = 10;
/// After an answer that makes no sense.
const TROUBLE: Duration = Duration::from_secs(2);

/// The settings of the crowd's queue: a line that moves before one's eyes.
pub(crate) fn settings() -> Value {
    json!({
        "capacity": 3,
        "batch": 1,
        "interval_seconds": 2,
        "claim_seconds": 10,
        "session_seconds": 30,
        "message": "This is a demonstration. The others in line are simulated.",
    })
}

/// Lets so many personas go through the queue until the end comes.
pub(crate) async fn run(router: Router, personas: u16, stop: Stop) {
    let mut crowd = JoinSet::new();
    for number in 0..personas {
        let persona = Persona {
            router: router.clone(),
            visitor: visitor(number),
        };
        crowd.spawn(persona.come_and_go());
    }
    stop.wait().await;
    crowd.shutdown().await;
}

/// The same number is the same visitor after a restart, who takes the old place up again.
fn visitor(number: u16) -> Uuid {
    let mut bytes = *b"vestibule crowd.";
    bytes[14..].copy_from_slice(&number.to_be_bytes());
    Builder::from_random_bytes(bytes).into_uuid()
}

struct Persona {
    router: Router,
    visitor: Uuid,
}

/// What the API said.
struct Answer {
    status: StatusCode,
    body: Value,
}

impl Persona {
    async fn come_and_go(self) {
        loop {
            sleep(between(200, 3_000)).await;
            self.visit().await;
            sleep(between(1_000, 8_000)).await;
        }
    }

    /// One visit, from entering to its end.
    async fn visit(&self) {
        let mut answer = self.ask(Method::POST, &format!("/queues/{QUEUE}/entries")).await;
        loop {
            let (state, token) = (answer.text("state"), answer.text("token"));
            debug!(token, state, status = %answer.status, "a persona");
            let entry = format!("/queues/{QUEUE}/entries/{token}");
            answer = match state {
                "waiting" => {
                    sleep(answer.retry_after()).await;
                    self.ask(Method::GET, &format!("{entry}?wait=20")).await
                }
                "ready" if one_in(NO_SHOW_ONE_IN) => return sleep(between(12_000, 15_000)).await,
                "ready" => self.ask(Method::POST, &format!("{entry}/claim")).await,
                "active" => {
                    sleep(between(3_000, 7_000)).await;
                    if !one_in(NO_SHOW_ONE_IN) {
                        self.ask(Method::DELETE, &entry).await;
                    }
                    return;
                }
                // Gone, refused, or no answer at the moment.
                _ => return sleep(TROUBLE).await,
            };
        }
    }

    async fn ask(&self, method: Method, path: &str) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, "application/json")
            .header("x-visitor-id", self.visitor.to_string())
            .body(Body::from("{}"))
            .expect("the parts of the request are fixed texts and ids");
        let Ok(response) = self.router.clone().oneshot(request).await;
        let status = response.status();
        let bytes = to_bytes(response.into_body(), ANSWER_BYTES)
            .await
            .unwrap_or_default();
        Answer {
            status,
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
        }
    }
}

impl Answer {
    fn text(&self, name: &str) -> &str {
        self.body[name].as_str().unwrap_or_default()
    }

    fn retry_after(&self) -> Duration {
        Duration::from_millis(self.body["retry_after_ms"].as_u64().unwrap_or(1_000))
    }
}

fn between(least_ms: u64, most_ms: u64) -> Duration {
    Duration::from_millis(rand::rng().random_range(least_ms..=most_ms))
}

fn one_in(many: u32) -> bool {
    rand::rng().random_ratio(1, many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persona_is_the_same_visitor_every_time() {
        assert_eq!(visitor(3), visitor(3));
        assert_ne!(visitor(3), visitor(4));
        assert_eq!(visitor(3).get_version_num(), 4);
    }
}
