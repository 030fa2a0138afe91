//! The way to the operators' commands of the deployment: the runner's route, or the admin function of a stack.

use std::time::Duration;

use http::{Request, header};
use serde_json::{Value, json};
use vestibule_aws::admin_client::AdminFunction;
use vestibule_crowd::http::HttpClient;

/// A command of the runner takes at most so long.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);

/// Why a command was not carried out, or its outcome is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdminError {
    #[error("the operators' command {op} got no answer: {reason}")]
    Unreachable { op: String, reason: String },
    #[error("the operators' command {op} was refused: {detail}")]
    Refused { op: String, detail: String },
}

/// Sends commands of operators.
pub(crate) enum AdminChannel {
    /// The runner, at the address of `/_admin`.
    Runner(Box<HttpClient>, String),
    /// The admin function of a stack.
    Function(AdminFunction),
}

impl AdminChannel {
    /// Runs a command and returns its result.
    pub(crate) async fn run(&self, command: Value) -> Result<Value, AdminError> {
        let op = command["op"].as_str().unwrap_or_default().to_owned();
        let answer = match self {
            Self::Runner(client, url) => ask_runner(client, url, &command).await,
            Self::Function(function) => function.invoke(&command).await.map_err(|error| error.to_string()),
        };
        let mut answer = answer.map_err(|reason| AdminError::Unreachable {
            op: op.clone(),
            reason,
        })?;
        if answer["ok"] == json!(true) {
            return Ok(answer["result"].take());
        }
        let detail = answer["problem"]["detail"].as_str();
        let detail = detail.map_or_else(|| answer.to_string(), str::to_owned);
        Err(AdminError::Refused { op, detail })
    }
}

async fn ask_runner(client: &HttpClient, url: &str, command: &Value) -> Result<Value, String> {
    let request = Request::post(url)
        .header(header::CONTENT_TYPE, "application/json")
        .body(command.to_string())
        .map_err(|error| error.to_string())?;
    let sent = client.send(request, COMMAND_TIMEOUT).await;
    let (parts, body) = sent.map_err(|_| format!("{url} does not answer"))?;
    serde_json::from_slice(&body).map_err(|_| format!("{url} answered {} without JSON", parts.status))
}
