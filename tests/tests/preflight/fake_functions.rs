//! The functions of the account. Their code is the real one, over a line and a backup of their own; their starts are not.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use axum::response::{IntoResponse, Response};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use vestibule_api::config::{ApiConfig, AuthorizerConfig, VisitorRoutes};
use vestibule_tests::in_process::{InProcessApi, send_event_to};

use crate::fake_account::Account;

/// The longest that a function may run.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The functions, with what they were asked.
pub(crate) struct Functions {
    pub api: InProcessApi,
    /// The status of the answer to each function's event.
    answered: Mutex<BTreeMap<String, u16>>,
}

impl Functions {
    pub(crate) async fn start() -> Self {
        Self {
            api: InProcessApi::start(json!({})).await,
            answered: Mutex::default(),
        }
    }

    /// The status with which each function has answered so far.
    pub(crate) fn answered(&self) -> BTreeMap<String, u16> {
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.clone()
    }

    /// Answers an invocation as Lambda does.
    pub(crate) async fn invoke(&self, account: &Account, path: &str, event: &Value) -> Response {
        let name = path
            .split_once("shop-")
            .and_then(|(_, rest)| rest.split_once("Function"))
            .map_or_else(|| panic!("no preflight invokes {path}"), |(name, _)| name);
        if let Some((failing, line)) = account.failing
            && failing == name
        {
            let error = json!({ "errorType": "Runtime.ExitError", "errorMessage": "exit status 1" });
            let headers = [
                ("x-amz-function-error", "Unhandled".to_owned()),
                (
                    "x-amz-log-result",
                    STANDARD.encode(format!("INIT_START\n{line}\n")),
                ),
            ];
            return (headers, error.to_string()).into_response();
        }
        let first_line = if name == "Enter" { account.enter_log } else { "" };
        let log = format!(
            "INIT_START\n{first_line}\nREPORT RequestId: 1\tDuration: 2.00 ms\tInit Duration: {:.2} ms\t\n",
            account.init_ms
        );
        let headers = [("x-amz-log-result", STANDARD.encode(log))];
        (headers, self.answer(account, name, event).await.to_string()).into_response()
    }

    async fn answer(&self, account: &Account, name: &str, event: &Value) -> Value {
        let (status, answer) = match name {
            "Document" => {
                let body = json!({ "keys": account.public_keys }).to_string();
                (
                    200,
                    json!({ "statusCode": 200, "body": body, "isBase64Encoded": false }),
                )
            }
            "Authorizer" => {
                let authorizer = self.api.start_authorizer(AuthorizerConfig::default());
                let policy = authorizer.authorize(event.clone()).await;
                (403, policy.expect("an event of an authorizer"))
            }
            _ => {
                let config = ApiConfig {
                    visitor_routes: VisitorRoutes::Authorizer,
                    ..ApiConfig::default()
                };
                let router = self.api.start_function(&name.to_lowercase(), config);
                let router = router.expect("a function");
                let answer = send_event_to(&router, event, TIMEOUT).await;
                let status = account
                    .claim_status
                    .filter(|_| name == "Claim")
                    .unwrap_or(answer.status.as_u16());
                (
                    status,
                    json!({ "statusCode": status, "body": answer.body.to_string() }),
                )
            }
        };
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.insert(name.to_owned(), status);
        answer
    }
}
