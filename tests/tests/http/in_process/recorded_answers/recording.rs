//! What was answered, with what differs each time masked.

use std::{collections::BTreeSet, fmt::Write};

use regex_lite::Regex;
use serde_json::Value;
use vestibule_tests::in_process::{ApiRequest, ApiResponse, InProcessApi};

/// The fields whose values depend on the clock, on ids or on chance.
const MASKED_FIELDS: [&str; 32] = [
    "token",
    "visit",
    "visitor",
    "pass",
    "place",
    "request_id",
    "retry_after_ms",
    "look_after_ms",
    "joined_at_ms",
    "promoted_at_ms",
    "claim_by_ms",
    "claim_in_ms",
    "expires_at_ms",
    "expires_in_ms",
    "ended_at_ms",
    "grace_until_ms",
    "grace_in_ms",
    "leaves_in_ms",
    "now_ms",
    "opens_at_ms",
    "closes_at_ms",
    "ends_at_ms",
    "draw_commitment",
    "draw_seed",
    "promoted_through",
    "check_in_through",
    "passed_through",
    "deleted_at_ms",
    "signs_from_ms",
    "until_ms",
    "revision",
    "deleted_at",
];
/// The headers of the same kind.
const MASKED_HEADERS: [&str; 2] = ["retry-after", "set-cookie"];
/// Headers that are in every answer, or follow from the body. The suites of the routes compare them.
const OTHER_HEADERS: [&str; 7] = [
    "access-control-allow-credentials",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "content-length",
    "vary",
    "x-content-type-options",
    "x-request-id",
];

/// The answers of one run.
#[derive(Default)]
pub(super) struct Recording {
    text: String,
    codes: BTreeSet<String>,
}

impl Recording {
    /// The recorded answers, each after an empty line.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The codes of the problems among them.
    pub(super) fn codes(&self) -> &BTreeSet<String> {
        &self.codes
    }

    /// Sends a request, and records the answer.
    pub(super) async fn send(&mut self, api: &InProcessApi, title: &str, request: ApiRequest) -> ApiResponse {
        let line = request.line();
        let response = api.send(request).await;
        self.add(title, &line, &response);
        response
    }

    /// Sends an event of API Gateway, and records the answer.
    pub(super) async fn send_event(&mut self, api: &InProcessApi, title: &str, event: &Value) {
        let line = format!("{} {}", event["httpMethod"], event["path"]).replace('"', "");
        self.add(title, &line, &api.send_event(event).await);
    }

    /// Records an answer to a request with this first line.
    pub(super) fn add(&mut self, title: &str, line: &str, response: &ApiResponse) {
        let headers = response.headers.iter();
        let mut headers: Vec<_> = headers
            .filter(|(name, _)| !OTHER_HEADERS.contains(&name.as_str()))
            .collect();
        headers.sort_by_key(|(name, _)| name.as_str());
        let mut text = format!("{title}\n{line}\n{}\n", response.status.as_u16());
        for (name, value) in headers {
            let value = value.to_str().expect("text");
            let value = if MASKED_HEADERS.contains(&name.as_str()) {
                "…"
            } else {
                value
            };
            writeln!(text, "{name}: {value}").expect("a text takes all");
        }
        // A page has its own suite.
        match &response.body {
            Value::String(_) => text.push_str("a page"),
            _ => text.push_str(std::str::from_utf8(&response.bytes).expect("UTF-8")),
        }
        self.codes
            .extend(response.body["code"].as_str().map(str::to_owned));
        self.push(&text);
    }

    /// Records the answer to a command of an operator.
    pub(super) fn add_command(&mut self, command: &Value, answer: &Value) {
        self.codes
            .extend(answer["problem"]["code"].as_str().map(str::to_owned));
        self.push(&format!("command\n{command}\n{answer}"));
    }

    fn push(&mut self, text: &str) {
        let names = MASKED_FIELDS.join("|");
        let fields = Regex::new(&format!(r#""({names})":("(?:[^"\\]|\\.)*"|-?[0-9]+)"#)).expect("a pattern");
        let ids = Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[48][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
            .expect("a pattern");
        let text = fields.replace_all(text, r#""$1":…"#);
        let text = ids.replace_all(&text, "…");
        let separator = if self.text.is_empty() { "" } else { "\n\n" };
        write!(self.text, "{separator}{text}").expect("a text takes all");
    }
}
