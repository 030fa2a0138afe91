//! Visitors who keep to the rules, and the protected service that validates and completes each visit.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use super::{Gateway, admission::Tickets, gateway::SIGNATURE};

/// Visitors near the head come back so often at least.
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// So often a client asks again, after the pause of each refusal.
const ATTEMPTS: u64 = 60;

/// The honest visitors of one queue.
pub(super) struct HonestClients {
    http: reqwest::Client,
    entries_url: String,
    tickets: Tickets,
}

/// A visit from entering on.
#[derive(Debug)]
pub(super) struct Visit {
    visitor: String,
    token: String,
    /// When the visitor first tried to enter.
    pub(super) arrived_at_ms: u64,
    pub(super) joined_at_ms: u64,
    pub(super) promoted_at_ms: u64,
    /// How long the requests took that were served, without the pauses after refusals, in milliseconds.
    pub(super) enter_ms: f64,
    pub(super) status_ms: Vec<f64>,
    pub(super) claim_ms: f64,
    pub(super) validate_ms: f64,
    /// Whether the protected service was told that the visitor may act.
    pub(super) is_validated: bool,
    /// Requests that were answered with 429 or 503.
    pub(super) refused: u64,
}

/// An answer that is no refusal.
struct Served {
    status: StatusCode,
    body: Value,
    took_ms: f64,
    refused: u64,
}

/// The answer was 429, or that of a server that is overloaded.
struct Refused;

impl HonestClients {
    pub(super) fn new(gateway: &Gateway, queue: &str, tickets: Tickets) -> Self {
        Self {
            http: reqwest::Client::new(),
            entries_url: gateway.url(&format!("/queues/{queue}/entries")),
            tickets,
        }
    }

    /// Enters as a new visitor.
    pub(super) async fn arrive(&self) -> Visit {
        let body = self.tickets.honest_body();
        let arrived_at = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        // Who brings a ticket gets a secret, and sends no id of its own.
        let own_id = body.get("ticket").is_none().then(|| Uuid::new_v4().to_string());
        let entered = send_until_served(|| {
            let enter = self.http.post(&self.entries_url).json(&body);
            match &own_id {
                Some(id) => enter.header("X-Visitor-Id", id),
                None => enter,
            }
        })
        .await;
        let entry = &entered.body;
        assert!(
            entered.status.is_success(),
            "an honest visitor was refused: {} {entry}",
            entered.status
        );
        Visit {
            token: entry["token"].as_str().expect("a token").to_owned(),
            arrived_at_ms: u64::try_from(arrived_at.as_millis()).expect("a time"),
            joined_at_ms: entry["joined_at_ms"].as_u64().expect("a time"),
            promoted_at_ms: 0,
            enter_ms: entered.took_ms,
            status_ms: Vec::new(),
            claim_ms: 0.0,
            validate_ms: 0.0,
            is_validated: false,
            refused: entered.refused,
            visitor: own_id.unwrap_or_else(|| entry["visitor"].as_str().expect("a secret").to_owned()),
        }
    }

    /// Waits for the turn, claims it, and lets the protected service validate and complete the visit.
    pub(super) async fn go_through(&self, mut visit: Visit) -> Visit {
        let url = format!("{}/{}", self.entries_url, visit.token);
        let claim = || {
            let claim = self.http.post(format!("{url}/claim"));
            claim.header("X-Visitor-Id", &visit.visitor).json(&json!({}))
        };
        let claimed = loop {
            let poll = self.http.get(&url).header("X-Visitor-Id", &visit.visitor);
            // As the client library does: while the gateway refuses polls, every other request is a claim.
            let Ok(polled) = send(poll).await.inspect_err(|_| visit.refused += 1) else {
                match send(claim()).await {
                    Ok(claimed) if claimed.status == StatusCode::CONFLICT => sleep(PAUSE_MAX).await,
                    Ok(claimed) => break claimed,
                    Err(Refused) => visit.refused += 1,
                }
                continue;
            };
            visit.status_ms.push(polled.took_ms);
            if polled.body["state"] != "waiting" {
                break send_until_served(claim).await;
            }
            let pause = polled.body["retry_after_ms"].as_u64().unwrap_or(1_000);
            sleep(PAUSE_MAX.min(Duration::from_millis(pause))).await;
        };
        visit.promoted_at_ms = claimed.body["promoted_at_ms"].as_u64().unwrap_or_default();
        visit.claim_ms = claimed.took_ms;
        let validate = || {
            let validate = self.http.post(format!("{url}/validate")).header(SIGNATURE, "1");
            validate.json(&json!({ "visitor": visit.visitor }))
        };
        let validated = send_until_served(validate).await;
        visit.validate_ms = validated.took_ms;
        visit.is_validated = validated.status == StatusCode::OK && validated.body["valid"] == true;
        let complete = || {
            let complete = self.http.post(format!("{url}/complete")).header(SIGNATURE, "1");
            complete.json(&json!({}))
        };
        let completed = send_until_served(complete).await;
        visit.refused += claimed.refused + validated.refused + completed.refused;
        visit
    }
}

/// Sends a request again while it is refused, as every client does. The last refusal is the answer.
async fn send_until_served(build: impl Fn() -> RequestBuilder) -> Served {
    for refused in 0..ATTEMPTS {
        if let Ok(served) = send(build()).await {
            return Served { refused, ..served };
        }
    }
    Served {
        status: StatusCode::TOO_MANY_REQUESTS,
        body: Value::Null,
        took_ms: 0.0,
        refused: ATTEMPTS,
    }
}

/// Sends a request. After a refusal it waits for the pause that the answer asks for.
async fn send(request: RequestBuilder) -> Result<Served, Refused> {
    let begun = Instant::now();
    let answer = request.send().await.expect("the gateway answers");
    let status = answer.status();
    let is_refusal = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::BAD_GATEWAY
            | StatusCode::GATEWAY_TIMEOUT
    );
    if is_refusal {
        let seconds = answer.headers().get("retry-after");
        let seconds = seconds.and_then(|value| value.to_str().ok()?.parse::<f64>().ok());
        let pause_seconds = seconds.unwrap_or(1.0) * rand::random_range(1.0..1.2);
        sleep(Duration::from_secs_f64(pause_seconds)).await;
        return Err(Refused);
    }
    let body = answer.json().await.unwrap_or_default();
    Ok(Served {
        status,
        body,
        took_ms: begun.elapsed().as_secs_f64() * 1_000.0,
        refused: 0,
    })
}
