//! Simulated visitors for the demo queue, so that a new user sees a line. Each visitor sends requests through
//! the real routes within this process.

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

/// The queue of the demo visitors.
pub(crate) const QUEUE: &str = "demo:1";

/// The most bytes of an answer of the API.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// One in this many visitors does not claim the turn, and one in this many active visitors does not complete
/// the visit.
const NO_SHOW_ONE_IN: u32 = 10;
/// The pause after an unexpected answer.
const ERROR_PAUSE: Duration = Duration::from_secs(2);

/// The settings of the demo queue. The line moves every two seconds.
pub(crate) fn settings() -> Value {
    json!({
        "capacity": 3,
        "batch": 1,
        "interval_seconds": 2,
        "claim_seconds": 10,
        "session_seconds": 30,
        "message": "This is a demonstration. The other visitors are simulated.",
    })
}

/// Runs this many demo visitors until the process stops.
pub(crate) async fn run_demo_visitors(router: Router, count: u16, stop: Stop) {
    let mut visitors = JoinSet::new();
    for number in 0..count {
        let visitor = DemoVisitor {
            router: router.clone(),
            id: visitor_id(number),
        };
        visitors.spawn(visitor.repeat_visits());
    }
    stop.wait().await;
    visitors.shutdown().await;
}

/// The id of a demo visitor. It is the same after a restart, so the visitor keeps the place.
fn visitor_id(number: u16) -> Uuid {
    let mut bytes = *b"vestibule crowd.";
    bytes[14..].copy_from_slice(&number.to_be_bytes());
    Builder::from_random_bytes(bytes).into_uuid()
}

struct DemoVisitor {
    router: Router,
    id: Uuid,
}

/// An answer of the API.
struct Answer {
    status: StatusCode,
    body: Value,
}

impl DemoVisitor {
    async fn repeat_visits(self) {
        loop {
            sleep(random_ms(200, 3_000)).await;
            self.visit().await;
            sleep(random_ms(1_000, 8_000)).await;
        }
    }

    /// One visit, from the request to enter to its end.
    async fn visit(&self) {
        let mut answer = self.send(Method::POST, &format!("/queues/{QUEUE}/entries")).await;
        loop {
            let (state, token) = (answer.text("state"), answer.text("token"));
            debug!(
                event = "demo_visitor.answered",
                token,
                state,
                status = %answer.status,
                "a demo visitor received an answer"
            );
            let entry = format!("/queues/{QUEUE}/entries/{token}");
            answer = match state {
                "waiting" => {
                    sleep(answer.retry_after()).await;
                    self.send(Method::GET, &format!("{entry}?wait=20")).await
                }
                "ready" if is_one_in(NO_SHOW_ONE_IN) => return sleep(random_ms(12_000, 15_000)).await,
                "ready" => self.send(Method::POST, &format!("{entry}/claim")).await,
                "active" => {
                    sleep(random_ms(3_000, 7_000)).await;
                    if !is_one_in(NO_SHOW_ONE_IN) {
                        // The protected service has finished with the visitor.
                        self.send(Method::POST, &format!("{entry}/complete")).await;
                    }
                    return;
                }
                // The entry has ended, the request was refused, or the API is unavailable.
                _ => return sleep(ERROR_PAUSE).await,
            };
        }
    }

    async fn send(&self, method: Method, path: &str) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, "application/json")
            .header("x-visitor-id", self.id.to_string())
            .body(Body::from("{}"))
            .expect("the method, path and headers are valid");
        let Ok(response) = self.router.clone().oneshot(request).await;
        let status = response.status();
        let bytes = to_bytes(response.into_body(), ANSWER_BYTES_MAX)
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

fn random_ms(min_ms: u64, max_ms: u64) -> Duration {
    Duration::from_millis(rand::rng().random_range(min_ms..=max_ms))
}

fn is_one_in(count: u32) -> bool {
    rand::rng().random_ratio(1, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_gives_the_same_visitor_id() {
        assert_eq!(visitor_id(3), visitor_id(3));
        assert_ne!(visitor_id(3), visitor_id(4));
        assert_eq!(visitor_id(3).get_version_num(), 4);
    }
}
