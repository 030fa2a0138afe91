//! The requests that start the functions. Each function answers its own with its own code, and none of them changes anything:
//! their queue and their entry do not exist.

use serde_json::{Value, json};

/// What API Gateway sends for `GET /.well-known/jwks.json`.
const JWKS: &str = include_str!("../../../../infra/events/http-jwks.json");
/// The beginning of the id of a queue that does not exist. The rest of the id is new in each run.
const NO_QUEUE: &str = "vestibule.preflight";
/// The token of no entry.
const NO_TOKEN: &str = "00000000-0000-8000-8000-000000000000";
/// Whom the requests are from.
const CALLER: &str = "vestibule.preflight";

/// The requests, each with the name of its function. `claim` is the one in which an authorizer names the visitor: without
/// it, the functions would count a visitor without a name, which raises an alarm.
pub(super) fn start_events(claim: &str) -> Vec<(&'static str, Value)> {
    let queue = format!("{NO_QUEUE}.{:032x}", rand::random::<u128>());
    let entry = "/queues/{queue}/entries/{token}";
    let request = |method, resource: &str, body: Value| http_event(method, resource, &body, &queue, claim);
    let visitor = json!({ "visitor": CALLER });
    let authorizer = json!({
        "type": "TOKEN",
        "authorizationToken": "Bearer vestibule.preflight",
        "methodArn": "arn:aws:execute-api:us-east-1:000000000000:preflight/v1/GET/preflight",
    });
    let jwks = serde_json::from_str(JWKS).expect("the file is JSON");
    vec![
        ("Document", jwks),
        ("Enter", request("POST", "/queues/{queue}/entries", json!({}))),
        ("Claim", request("POST", &format!("{entry}/claim"), json!({}))),
        ("Status", request("GET", entry, Value::Null)),
        ("Validate", request("POST", &format!("{entry}/validate"), visitor)),
        ("Authorizer", authorizer),
    ]
}

/// An event of a REST API (payload 1.0).
fn http_event(method: &str, resource: &str, body: &Value, queue: &str, claim: &str) -> Value {
    let path = resource.replace("{queue}", queue).replace("{token}", NO_TOKEN);
    json!({
        "resource": resource,
        "path": path,
        "httpMethod": method,
        "headers": { "Content-Type": "application/json" },
        "multiValueHeaders": { "Content-Type": ["application/json"] },
        "queryStringParameters": null,
        "multiValueQueryStringParameters": null,
        "pathParameters": { "queue": queue, "token": NO_TOKEN },
        "stageVariables": null,
        "requestContext": {
            "resourcePath": resource,
            "httpMethod": method,
            "path": path,
            "stage": "preflight",
            "requestId": CALLER,
            "authorizer": { "claims": { claim: CALLER } },
            "identity": { "userArn": CALLER, "apiKeyId": CALLER },
        },
        "body": if body.is_null() { Value::Null } else { json!(body.to_string()) },
        "isBase64Encoded": false,
    })
}
