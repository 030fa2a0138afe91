//! A stack deployed from `template.yaml` on an emulator of AWS: `infra/test-stack.sh` makes it and says where it is.
//!
//! Everything goes through the interfaces of AWS, signed as AWS wants it: nothing here knows which emulator answers.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4::SigningParams,
};
use axum::http;
use reqwest::{Client, Method, Request, Url};
use serde_json::{Value, json};

use crate::servers::server_url;

const REGION: &str = "us-east-1";

/// What the stack's outputs say, and how to reach it.
pub struct Stack {
    /// Its name, which is that of the deployment.
    pub name: String,
    /// The API with its stage, without a slash at its end.
    pub api: Url,
    /// By their names in `template.yaml`.
    pub outputs: BTreeMap<String, String>,
    http: Client,
    endpoint: Url,
}

/// One line that a function has logged.
pub type Logged = Value;

impl Stack {
    /// The deployed one.
    pub fn deployed() -> Self {
        let endpoint: Url = server_url("AWS_ENDPOINT_URL").parse().expect("an address");
        let outputs: Vec<Value> =
            serde_json::from_str(&server_url("TEST_STACK_OUTPUTS")).expect("a list in JSON");
        let text = |output: &Value, name: &str| output[name].as_str().expect("a text").to_owned();
        let outputs = outputs
            .iter()
            .map(|output| (text(output, "OutputKey"), text(output, "OutputValue")))
            .collect();
        Self {
            name: server_url("TEST_STACK_NAME"),
            api: server_url("TEST_API_URL").parse().expect("an address"),
            outputs,
            http: Client::builder()
                .timeout(Duration::from_mins(2))
                .build()
                .expect("a client"),
            endpoint,
        }
    }

    /// An output of the stack.
    pub fn output(&self, name: &str) -> &str {
        self.outputs
            .get(name)
            .unwrap_or_else(|| panic!("template.yaml has no output {name}: {:?}", self.outputs))
    }

    /// Calls a function and waits for what it answers.
    pub async fn invoke(&self, function: &str, event: &Value) -> Value {
        let path = format!("/2015-03-31/functions/{function}/invocations");
        let request = self
            .http
            .post(self.endpoint.join(&path).expect("a path"))
            .body(event.to_string());
        self.call("lambda", request.build().expect("a request")).await
    }

    /// Gives the admin function an order, and the result where it took it.
    pub async fn order(&self, order: Value) -> Value {
        let mut answer = self.invoke(self.output("AdminFunction"), &order).await;
        assert_eq!(answer["ok"], true, "{order}: {answer}");
        answer["result"].take()
    }

    /// Every line in JSON that a log group has, oldest first.
    pub async fn logged(&self, group: &str) -> Vec<Logged> {
        let mut lines = Vec::new();
        let mut token = Value::Null;
        loop {
            let mut ask = json!({ "logGroupName": group });
            if !token.is_null() {
                ask["nextToken"] = token;
            }
            let request = self
                .http
                .request(Method::POST, self.endpoint.clone())
                .header("x-amz-target", "Logs_20140328.FilterLogEvents")
                .header("content-type", "application/x-amz-json-1.1")
                .body(ask.to_string());
            let page = self.call("logs", request.build().expect("a request")).await;
            for event in page["events"].as_array().into_iter().flatten() {
                let message = event["message"].as_str().expect("a message");
                lines.extend(serde_json::from_str::<Value>(message).ok());
            }
            token = page["nextToken"].clone();
            if token.is_null() {
                return lines;
            }
        }
    }

    /// The documents of metrics that a log group has: all whole numbers of one metric of one queue.
    pub async fn metric(&self, group: &str, queue: &str, name: &str) -> Vec<u64> {
        let lines = self.logged(group).await;
        let of_queue = lines
            .iter()
            .filter(|line| !line["_aws"].is_null() && line["Queue"] == queue);
        let values = of_queue.flat_map(|line| match &line[name] {
            Value::Array(values) => values.iter().filter_map(Value::as_u64).collect(),
            value => value.as_u64().into_iter().collect::<Vec<_>>(),
        });
        values.collect()
    }

    async fn call(&self, service: &str, request: Request) -> Value {
        let what = format!("{} {}", request.method(), request.url());
        let answer = self
            .http
            .execute(signed(service, request))
            .await
            .expect("the emulator answers");
        let status = answer.status();
        let body = answer.text().await.expect("a body");
        assert!(status.is_success(), "{what}: {status} {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{what}: {error} in {body}"))
    }
}

/// Signs a request with the credentials of the environment, for a service of AWS: `execute-api` is an API of one's own.
/// Emulators look at the signature to tell services apart.
pub fn signed(service: &str, mut request: Request) -> Request {
    let (id, secret) = (
        server_url("AWS_ACCESS_KEY_ID"),
        server_url("AWS_SECRET_ACCESS_KEY"),
    );
    let identity = Credentials::new(id, secret, None, None, "environment").into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(REGION)
        .name(service)
        .time(SystemTime::now())
        .settings(SigningSettings::default())
        .build()
        .expect("complete")
        .into();
    let body = request
        .body()
        .and_then(reqwest::Body::as_bytes)
        .unwrap_or_default();
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().expect("text")));
    let signable = SignableRequest::new(
        request.method().as_str(),
        request.url().as_str(),
        headers,
        SignableBody::Bytes(body),
    )
    .expect("signable");
    let (instructions, _) = sign(signable, &params).expect("signed").into_parts();
    for (name, value) in instructions.headers() {
        let name: http::HeaderName = name.parse().expect("a name");
        request
            .headers_mut()
            .insert(name, value.parse().expect("a value"));
    }
    request
}
