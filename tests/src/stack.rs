//! A stack that `infra/test-stack.sh` deploys from `template.yaml` on an emulator of AWS. The script passes its address
//! in environment variables.
//!
//! All requests use the interfaces of AWS and AWS signatures, so the code does not depend on the emulator.

// A panic in the harness fails the test.
#![allow(clippy::missing_panics_doc)]

use std::{collections::BTreeMap, time::Duration};

use aws_credential_types::Credentials;
use axum::http;
use reqwest::{Client, Request, Url};
use serde_json::{Value, json};
use vestibule_aws::signing::{UnsignedRequest, signature_headers};

use crate::servers::server_url;

const REGION: &str = "us-east-1";

/// A deployed stack: its outputs and its endpoint.
pub struct Stack {
    /// The name of the stack, which is also the name of the deployment.
    pub name: String,
    /// The URL of the API with the stage, without a slash at the end.
    pub api: Url,
    /// The outputs of the stack, by their names in `template.yaml`.
    pub outputs: BTreeMap<String, String>,
    /// The sample API behind the authorizer, as a REST API, without a slash at the end.
    pub sample_rest_api: String,
    /// The same as an HTTP API.
    pub sample_http_api: String,
    http: Client,
    endpoint: Url,
}

impl Stack {
    /// Reads the address and the outputs of the stack from the environment.
    pub fn from_environment() -> Self {
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
            sample_rest_api: server_url("TEST_SAMPLE_REST_URL"),
            sample_http_api: server_url("TEST_SAMPLE_HTTP_URL"),
            http: Client::builder()
                .timeout(Duration::from_mins(2))
                .build()
                .expect("a client"),
            endpoint,
        }
    }

    /// The value of an output.
    pub fn output(&self, name: &str) -> &str {
        self.outputs
            .get(name)
            .unwrap_or_else(|| panic!("the stack has no output {name}: {:?}", self.outputs))
    }

    /// Invokes a function and waits for its answer.
    pub async fn invoke(&self, function: &str, event: &Value) -> Value {
        let path = format!("/2015-03-31/functions/{function}/invocations");
        let request = self
            .http
            .post(self.endpoint.join(&path).expect("a path"))
            .body(event.to_string());
        self.call("lambda", request.build().expect("a request")).await
    }

    /// Runs a command of an operator and returns its result.
    pub async fn run_command(&self, command: Value) -> Value {
        let mut answer = self.invoke(self.output("AdminFunction"), &command).await;
        assert_eq!(answer["ok"], true, "{command}: {answer}");
        answer["result"].take()
    }

    /// Reads all lines of a log group that are JSON, oldest first.
    pub async fn read_log(&self, group: &str) -> Vec<Value> {
        let mut lines = Vec::new();
        let mut token = Value::Null;
        loop {
            let mut query = json!({ "logGroupName": group });
            if !token.is_null() {
                query["nextToken"] = token;
            }
            let logs = ("logs", "Logs_20140328");
            let page = self.call_service(logs, "FilterLogEvents", query).await;
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

    /// Reads all integer values of one metric of one queue from the metric documents in a log group.
    pub async fn read_metric(&self, group: &str, queue: &str, name: &str) -> Vec<u64> {
        let lines = self.read_log(group).await;
        let of_queue = lines
            .iter()
            .filter(|line| !line["_aws"].is_null() && line["Queue"] == queue);
        let values = of_queue.flat_map(|line| match &line[name] {
            Value::Array(values) => values.iter().filter_map(Value::as_u64).collect(),
            value => value.as_u64().into_iter().collect::<Vec<_>>(),
        });
        values.collect()
    }

    /// Calls an operation of a service with a JSON protocol. `service` has its name in signatures, and the prefix of its
    /// targets.
    pub async fn call_service(&self, service: (&str, &str), operation: &str, body: Value) -> Value {
        let (name, prefix) = service;
        let request = self
            .http
            .post(self.endpoint.clone())
            .header("x-amz-target", format!("{prefix}.{operation}"))
            .header("content-type", "application/x-amz-json-1.1")
            .body(body.to_string());
        self.call(name, request.build().expect("a request")).await
    }

    async fn call(&self, service: &str, request: Request) -> Value {
        let what = format!("{} {}", request.method(), request.url());
        let answer = self
            .http
            .execute(sign_request(service, request))
            .await
            .expect("the emulator answers");
        let status = answer.status();
        let body = answer.text().await.expect("a body");
        assert!(status.is_success(), "{what}: {status} {body}");
        if body.is_empty() {
            return Value::Null;
        }
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{what}: {error} in {body}"))
    }
}

/// Signs a request for a service of AWS with the credentials of the environment. The service of a deployed API is
/// `execute-api`. Emulators read the service from the signature.
pub fn sign_request(service: &str, mut request: Request) -> Request {
    let (id, secret) = (
        server_url("AWS_ACCESS_KEY_ID"),
        server_url("AWS_SECRET_ACCESS_KEY"),
    );
    let credentials = Credentials::new(id, secret, None, None, "environment");
    let body = request.body().and_then(reqwest::Body::as_bytes);
    let headers = request.headers().iter();
    let unsigned = UnsignedRequest {
        method: request.method().as_str(),
        url: request.url().as_str(),
        headers: headers
            .map(|(name, value)| (name.as_str(), value.to_str().expect("text")))
            .collect(),
        body: body.unwrap_or_default(),
    };
    let signature = signature_headers(&credentials, REGION, service, &unsigned);
    for (name, value) in signature.expect("the request can be signed") {
        let name: http::HeaderName = name.parse().expect("a name");
        request
            .headers_mut()
            .insert(name, value.parse().expect("a value"));
    }
    request
}
