//! The endpoint of AWS for the functions of a deployment. It records each call with its resource, as IAM would decide on it,
//! and refuses a call that `tests/aws-calls.txt` does not have. The suite `aws_rules` compares that file with the roles of the
//! functions and the policies on the way.
//!
//! # Layout
//! - `request`, `expression`: what IAM decides about
//! - `known_calls`: the file, and what this process saw
//! - `emulator`: where `DynamoDB` and Secrets Manager are

mod emulator;
mod expression;
mod known_calls;
mod request;

use std::{
    collections::{BTreeSet, HashMap},
    io::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
    serve::ListenerExt,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::AbortHandle};

pub(crate) use self::{emulator::Emulator, known_calls::KnownCalls};
use self::{
    known_calls::explain_unknown,
    request::{UPDATE_ITEM, read_actions},
};
use crate::lambda::Lambda;

/// The table whose statements name attributes.
const QUEUES_TABLE: &str = "QueuesTable";
const ERROR_TYPE: &str = "x-amzn-errortype";

/// A call that is not in the file. It is answered as AWS answers a request without the right.
#[derive(Debug)]
pub(crate) struct UnknownCall {
    /// What is missing in the file.
    message: String,
}

/// What AWS is for the functions of one deployment. Dropping it fails the test if a function sent a call that is not in the
/// file.
#[derive(Debug)]
pub(crate) struct AwsEndpoint {
    /// The host and port.
    address: String,
    recorder: Arc<CallRecorder>,
    server: AbortHandle,
}

/// Records the calls of the functions, and answers what the emulator of `DynamoDB` does not.
#[derive(Debug)]
pub(crate) struct CallRecorder {
    /// The resources of the template, by the names or ARNs that they have in this deployment.
    resources: HashMap<String, &'static str>,
    known: KnownCalls,
    emulator: Emulator,
    /// Is absent until the functions exist, and when the deployment ends.
    lambda: Mutex<Option<Lambda>>,
    unknown: Mutex<BTreeSet<String>>,
    events: Mutex<Vec<Value>>,
}

impl AwsEndpoint {
    /// Listens for the functions. `resources` are those of the template, by the names or ARNs that they have here.
    pub(crate) async fn listen(
        emulator: Emulator,
        known: KnownCalls,
        resources: HashMap<String, &'static str>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let recorder = Arc::new(CallRecorder {
            resources,
            known,
            emulator,
            lambda: Mutex::default(),
            unknown: Mutex::default(),
            events: Mutex::default(),
        });
        let router = Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::disable())
            .with_state(recorder.clone());
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            recorder,
            server: server.abort_handle(),
        }
    }

    /// The URL of every service for one function.
    pub(crate) fn url_for(&self, function: &str) -> String {
        format!("http://{}/{function}", self.address)
    }

    /// Sets the functions that others may invoke.
    pub(crate) fn set_lambda(&self, lambda: &Lambda) {
        *lock(&self.recorder.lambda) = Some(lambda.clone());
    }

    /// What records the calls, for an endpoint of a test that stands before the emulator itself.
    pub(crate) fn recorder(&self) -> Arc<CallRecorder> {
        self.recorder.clone()
    }

    /// The entries of the events that the functions sent.
    pub(crate) fn sent_events(&self) -> Vec<Value> {
        lock(&self.recorder.events).clone()
    }
}

impl Drop for AwsEndpoint {
    fn drop(&mut self) {
        self.server.abort();
        // Connections that are still open hold the recorder, and it would hold the processes of the functions.
        lock(&self.recorder.lambda).take();
        let unknown = lock(&self.recorder.unknown).clone();
        if unknown.is_empty() {
            return;
        }
        let sentences: Vec<_> = unknown.iter().map(|call| explain_unknown(call)).collect();
        let text = sentences.join("\n");
        if tokio::task::try_id().is_some() {
            // The panic of a task need not fail the test. What is written without a macro is not captured.
            let _ = writeln!(std::io::stderr(), "{text}");
            std::process::exit(1);
        }
        assert!(thread::panicking(), "{text}");
        eprintln!("{text}");
    }
}

impl CallRecorder {
    /// Records a request of a function.
    ///
    /// # Errors
    /// [`UnknownCall`] if `tests/aws-calls.txt` does not have the call.
    pub(crate) fn record(
        &self,
        function: &str,
        target: Option<&str>,
        path: &str,
        body: &[u8],
    ) -> Result<(), UnknownCall> {
        for action in read_actions(target, path, body) {
            let resource = self.resources.get(&action.resource).copied();
            let resource = resource.unwrap_or(&action.resource);
            let mut call = format!("{function} {} {resource}", action.name);
            if action.name == UPDATE_ITEM && resource == QUEUES_TABLE {
                let attributes: Vec<_> = action.attributes.into_iter().collect();
                call = format!("{call} attributes={}", attributes.join(","));
            }
            if !self.known.admit(&call) {
                let message = explain_unknown(&call);
                lock(&self.unknown).insert(call);
                return Err(UnknownCall { message });
            }
        }
        Ok(())
    }

    /// Invokes a function for another one, as Lambda does.
    async fn invoke(&self, function: &str, payload: &[u8]) -> Response {
        let Some(lambda) = lock(&self.lambda).clone() else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        let payload = serde_json::from_slice(payload).expect("functions are invoked with JSON");
        match lambda.invoke(function, &payload).await {
            Ok(answer) => Json(answer).into_response(),
            Err(error) => {
                let failed = [("x-amz-function-error", "Unhandled")];
                (failed, Json(json!({ "errorMessage": format!("{error:?}") }))).into_response()
            }
        }
    }

    /// Accepts events, as EventBridge does.
    fn accept_events(&self, body: &[u8]) -> Response {
        let request: Value = serde_json::from_slice(body).expect("events are sent as JSON");
        let entries = request["Entries"].as_array().cloned().unwrap_or_default();
        let ids: Vec<_> = entries.iter().map(|_| json!({ "EventId": "an id" })).collect();
        lock(&self.events).extend(entries);
        Json(json!({ "FailedEntryCount": 0, "Entries": ids })).into_response()
    }
}

/// Answers a request, whose path begins with the name of the function.
async fn answer(
    State(recorder): State<Arc<CallRecorder>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().trim_start_matches('/');
    let (function, path) = path.split_at(path.find('/').unwrap_or(path.len()));
    let target = header(&headers, "x-amz-target");
    if let Err(unknown) = recorder.record(function, target, path, &body) {
        return unknown.into_response();
    }
    match target {
        Some(target) if target.starts_with("AWSEvents.") => recorder.accept_events(&body),
        Some(_) => recorder.emulator.forward(headers, body).await,
        None => {
            let invoked = path.split('/').nth(3).unwrap_or_default();
            recorder.invoke(invoked, &body).await
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

impl IntoResponse for UnknownCall {
    fn into_response(self) -> Response {
        // The client of one service reads the code from the body, that of another one from the header.
        let code = "AccessDeniedException";
        let body = json!({ "__type": format!("com.amazon.coral.service#{code}"), "message": self.message });
        (StatusCode::BAD_REQUEST, [(ERROR_TYPE, code)], Json(body)).into_response()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::servers::closed_port_url;

    const ALLOWED: &str = "enter dynamodb:UpdateItem QueuesTable attributes=fence,part";

    async fn send(endpoint: &AwsEndpoint, operation: &str, body: &Value) -> (u16, String) {
        let request = reqwest::Client::new().post(endpoint.url_for("enter"));
        let request = request.header("x-amz-target", format!("DynamoDB_20120810.{operation}"));
        let answer = request.body(body.to_string()).send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a text"))
    }

    #[tokio::test]
    async fn unknown_call_is_denied_and_fails_the_test() {
        let emulator = Emulator::at(&closed_port_url());
        let resources = HashMap::from([("queues-1".to_owned(), QUEUES_TABLE)]);
        let endpoint = AwsEndpoint::listen(emulator, KnownCalls::of(&[ALLOWED]), resources).await;
        let mut update = json!({
            "TableName": "queues-1", "Key": { "part": {} },
            "UpdateExpression": "SET #f = :f", "ExpressionAttributeNames": { "#f": "fence" },
        });
        let (status, _) = send(&endpoint, "UpdateItem", &update).await;
        assert_eq!(status, 502, "the call is sent on, and no emulator answers");

        update["ExpressionAttributeNames"]["#f"] = json!("settings");
        let (status, body) = send(&endpoint, "UpdateItem", &update).await;
        let unknown = "enter dynamodb:UpdateItem QueuesTable attributes=part,settings";
        assert_eq!(status, 400);
        assert!(
            body.contains("AccessDeniedException") && body.contains(unknown),
            "{body}"
        );
        let failed = catch_unwind(AssertUnwindSafe(|| drop(endpoint))).expect_err("the test fails");
        let sentence = failed.downcast::<String>().expect("a sentence");
        assert!(
            sentence.starts_with(&format!("`{unknown}` is not in")),
            "{sentence}"
        );
    }
}
