//! Events of API Gateway.

use serde_json::{Value, json};

/// Returns an event of API Gateway (REST, payload 1.0) of the stage `Prod`.
pub fn event(method: &str, resource: &str, parameters: &Value) -> Value {
    let mut path = resource.to_owned();
    for (name, value) in parameters.as_object().expect("an object") {
        path = path.replace(&format!("{{{name}}}"), value.as_str().expect("a text"));
    }
    json!({
        "resource": resource,
        "path": path,
        "httpMethod": method,
        "headers": { "Host": "abc.execute-api.eu-west-1.amazonaws.com" },
        "multiValueHeaders": { "Host": ["abc.execute-api.eu-west-1.amazonaws.com"] },
        "queryStringParameters": null,
        "multiValueQueryStringParameters": null,
        "pathParameters": parameters,
        "stageVariables": null,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "abc",
            "stage": "Prod",
            "path": format!("/Prod{path}"),
            "resourcePath": resource,
            "httpMethod": method,
            "requestId": "gateway-request-1",
            "identity": { "sourceIp": "192.0.2.1", "userArn": null, "caller": null },
        },
        "body": null,
        "isBase64Encoded": false,
    })
}

/// Adds a header as the gateway does: to `headers` and to `multiValueHeaders`.
pub fn with_header(mut event: Value, name: &str, value: &str) -> Value {
    event["headers"][name] = json!(value);
    event["multiValueHeaders"][name] = json!([value]);
    event
}

/// Adds the claims of a caller whom an authorizer verified.
pub fn with_claims(mut event: Value, claims: &Value) -> Value {
    event["requestContext"]["authorizer"] = json!({ "claims": claims });
    event
}
