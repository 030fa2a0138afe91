//! A small server with the two calls of AWS that the console of a stack sends: `DescribeStacks` and `Invoke`. The admin
//! function has one queue, in which three visitors wait, and notes the commands that it gets.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::QUEUE;

/// What is wrong with the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The stack has no admin function.
    OtherStack,
    /// The operator may not read the stack.
    StackForbidden,
    /// The operator may not invoke the function.
    InvokeForbidden,
    /// The operator may invoke these aliases of the function alone.
    Only(&'static [&'static str]),
    /// The function ends without an answer.
    FunctionFails,
}

struct Account {
    fault: Mutex<Fault>,
    /// The commands, each with the alias by which it came.
    commands: Mutex<Vec<(String, Value)>>,
}

pub(crate) struct FakeAws {
    url: String,
    account: Arc<Account>,
}

impl FakeAws {
    pub(crate) async fn start(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let account = Arc::new(Account {
            fault: Mutex::new(fault),
            commands: Mutex::default(),
        });
        let router = Router::new()
            .route("/", post(describe_stacks))
            .route("/2015-03-31/functions/{name}/invocations", post(invoke))
            .with_state(account.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, account }
    }

    /// The variables by which a console finds this server. It needs no credentials for a server without TLS.
    pub(crate) fn variables(&self) -> [(&str, &str); 2] {
        [("AWS_ENDPOINT_URL", &self.url), ("AWS_REGION", "eu-central-1")]
    }

    pub(crate) fn set_fault(&self, fault: Fault) {
        *self.account.fault.lock().expect("no test panicked") = fault;
    }

    /// The commands that the admin function got of this operation.
    pub(crate) fn commands(&self, op: &str) -> Vec<Value> {
        let commands = self.account.commands.lock().expect("no test panicked");
        commands
            .iter()
            .filter(|(_, command)| command["op"] == op)
            .map(|(_, command)| command.clone())
            .collect()
    }

    /// By which alias the last command of this operation came; empty for none.
    pub(crate) fn alias_of(&self, op: &str) -> String {
        let commands = self.account.commands.lock().expect("no test panicked");
        let last = commands.iter().rfind(|(_, command)| command["op"] == op);
        last.expect("the command came").0.clone()
    }
}

/// Answers in XML, as the query protocol does.
async fn describe_stacks(State(account): State<Arc<Account>>, form: String) -> Response {
    let fault = *account.fault.lock().expect("no test panicked");
    let error = |status: StatusCode, code: &str, message: &str| {
        let text = format!(
            "<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
        );
        (status, [(CONTENT_TYPE, "text/xml")], text).into_response()
    };
    if fault == Fault::StackForbidden {
        return error(
            StatusCode::FORBIDDEN,
            "AccessDenied",
            "not authorized to perform DescribeStacks",
        );
    }
    if !form.contains("StackName=shop") {
        return error(
            StatusCode::BAD_REQUEST,
            "ValidationError",
            "Stack with id x does not exist",
        );
    }
    let mut outputs = vec![("WaitingRoomUrl", "https://queue.example")];
    if fault != Fault::OtherStack {
        outputs.extend([
            ("AdminFunction", "shop-AdminFunction-1"),
            ("AdminLook", "shop-AdminFunction-1:look"),
            ("AdminOperate", "shop-AdminFunction-1:operate"),
            ("AdminEnd", "shop-AdminFunction-1:end"),
        ]);
    }
    let members = outputs.iter().fold(String::new(), |members, (key, value)| {
        members + &format!("<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>")
    });
    let text = format!(
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>shop</StackName>\
         <CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus>\
         <Outputs>{members}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
    );
    ([(CONTENT_TYPE, "text/xml")], text).into_response()
}

async fn invoke(
    State(account): State<Arc<Account>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (function, alias) = name.split_once(':').unwrap_or((&name, ""));
    assert_eq!(function, "shop-AdminFunction-1");
    let fault = *account.fault.lock().expect("no test panicked");
    let is_forbidden = match fault {
        Fault::InvokeForbidden => true,
        Fault::Only(aliases) => !aliases.contains(&alias),
        _ => false,
    };
    if !is_forbidden
        && headers
            .get("x-amz-invocation-type")
            .is_some_and(|kind| kind == "DryRun")
    {
        return StatusCode::NO_CONTENT.into_response();
    }
    let command: Value = serde_json::from_slice(&body).unwrap_or_default();
    account
        .commands
        .lock()
        .expect("no test panicked")
        .push((alias.to_owned(), command.clone()));
    match fault {
        _ if is_forbidden => {
            let headers = [("x-amzn-errortype", "AccessDeniedException")];
            let body = json!({ "Message": "not authorized to perform lambda:InvokeFunction" });
            (StatusCode::FORBIDDEN, headers, body.to_string()).into_response()
        }
        Fault::FunctionFails => {
            let headers = [("x-amz-function-error", "Unhandled")];
            (headers, json!({ "errorMessage": "Task timed out" }).to_string()).into_response()
        }
        _ => answer_command(&command).to_string().into_response(),
    }
}

fn answer_command(command: &Value) -> Value {
    let row = json!({
        "queue": QUEUE, "waiting": 3, "absent": 0, "ready": 0, "active": 0, "held": 0, "state": "open", "paused": false,
        "heartbeat_age_ms": 800,
    });
    let is_known = command["queue"] == QUEUE;
    let result = match command["op"].as_str().unwrap_or_default() {
        "list" => json!({ "queues": [row] }),
        "stats" if is_known => row,
        "describe" if is_known => json!({ "settings": { "capacity": 7 } }),
        "report" if is_known => json!({ "orders": [] }),
        "pause" if is_known => json!({ "paused": true }),
        _ => return json!({ "ok": false, "problem": { "code": "unknown-queue", "status": 404 } }),
    };
    json!({ "ok": true, "result": result })
}
