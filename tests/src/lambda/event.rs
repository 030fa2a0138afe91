//! Converts HTTP requests to events of API Gateway (REST, payload 1.0), and the answers of functions to HTTP responses.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::gateway::body_only_response;

/// What the gateway knows about the caller.
#[derive(Debug, Default)]
pub(super) struct Caller {
    pub(super) api_key: Option<String>,
    pub(super) api_key_id: Option<String>,
    pub(super) user_arn: Option<String>,
}

/// A request with the route that it matches.
pub(super) struct RoutedRequest<'a> {
    pub(super) parts: &'a Parts,
    pub(super) body: &'a [u8],
    pub(super) resource: &'a str,
    pub(super) stage: &'a str,
    /// The path parameters as the client sent them, because API Gateway does not decode them.
    pub(super) parameters: Vec<(String, String)>,
    pub(super) caller: Caller,
}

impl RoutedRequest<'_> {
    pub(super) fn to_event(&self) -> Value {
        let (headers, multi_headers) = single_and_multi_values(header_pairs(&self.parts.headers));
        let (query, multi_query) =
            single_and_multi_values(query_pairs(self.parts.uri.query().unwrap_or_default()));
        let path = self.parts.uri.path();
        let below_stage = path.strip_prefix(&format!("/{}", self.stage)).unwrap_or(path);
        let parameters: Map<_, _> = self
            .parameters
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        // API Gateway passes text through, whether or not it is JSON, and encodes any other body in base64.
        let (body, is_base64) = match str::from_utf8(self.body) {
            Ok("") => (Value::Null, false),
            Ok(text) => (json!(text), false),
            Err(_) => (json!(STANDARD.encode(self.body)), true),
        };
        json!({
            "resource": self.resource,
            "path": below_stage,
            "httpMethod": self.parts.method.as_str(),
            "headers": headers,
            "multiValueHeaders": multi_headers,
            "queryStringParameters": query,
            "multiValueQueryStringParameters": multi_query,
            "pathParameters": null_if_empty(parameters),
            "stageVariables": null,
            "requestContext": self.request_context(path),
            "body": body,
            "isBase64Encoded": is_base64,
        })
    }

    fn request_context(&self, path: &str) -> Value {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        json!({
            "accountId": "000000000000",
            "apiId": "local",
            "resourceId": "local",
            "resourcePath": self.resource,
            "httpMethod": self.parts.method.as_str(),
            "stage": self.stage,
            "path": path,
            "protocol": "HTTP/1.1",
            "domainName": self.parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()),
            "requestId": Uuid::new_v4().to_string(),
            "extendedRequestId": Uuid::new_v4().to_string(),
            "requestTimeEpoch": u64::try_from(since_1970.as_millis()).expect("the time fits into 64 bits"),
            "identity": {
                "sourceIp": "127.0.0.1",
                "userAgent": self.parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()),
                "apiKey": self.caller.api_key,
                "apiKeyId": self.caller.api_key_id,
                "userArn": self.caller.user_arn,
                "caller": self.caller.user_arn,
                "user": self.caller.user_arn,
                "accountId": null, "accessKey": null, "cognitoIdentityId": null,
            },
        })
    }
}

fn header_pairs(headers: &HeaderMap) -> impl Iterator<Item = (String, String)> + '_ {
    headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.to_string(), value)
    })
}

fn query_pairs(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(move |pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    })
}

/// Two objects: the last value of each name, and all values of each name.
fn single_and_multi_values(pairs: impl Iterator<Item = (String, String)>) -> (Value, Value) {
    let (mut single, mut multi) = (Map::new(), Map::new());
    for (name, value) in pairs {
        let values = multi.entry(name.clone()).or_insert_with(|| json!([]));
        values
            .as_array_mut()
            .expect("the entry is an array")
            .push(json!(value));
        single.insert(name, json!(value));
    }
    (null_if_empty(single), null_if_empty(multi))
}

fn null_if_empty(map: Map<String, Value>) -> Value {
    if map.is_empty() {
        Value::Null
    } else {
        Value::Object(map)
    }
}

/// Converts the answer of a function to an HTTP response.
///
/// # Errors
/// The first part of the answer that API Gateway would reject.
pub(super) fn parse_answer(given: &Value) -> Result<Response, &'static str> {
    let status = given["statusCode"]
        .as_u64()
        .and_then(|status| u16::try_from(status).ok());
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    let body = given["body"].as_str().unwrap_or_default();
    // API Gateway decodes base64 only if the API lists binary types, and this API lists none.
    let mut response = body_only_response(body.as_bytes().to_vec());
    *response.status_mut() = status.ok_or("no status code")?;
    let headers = response.headers_mut();
    let multi = given["multiValueHeaders"].as_object();
    for (name, values) in multi.into_iter().flatten() {
        for value in values.as_array().ok_or("the values of a header are not a list")? {
            append_header(headers, name, value)?;
        }
    }
    // If both maps have a header, the values in `multiValueHeaders` win.
    for (name, value) in given["headers"].as_object().into_iter().flatten() {
        if !headers.contains_key(name) {
            append_header(headers, name, value)?;
        }
    }
    if !headers.contains_key(header::CONTENT_TYPE) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    Ok(response)
}

fn append_header(headers: &mut HeaderMap, name: &str, value: &Value) -> Result<(), &'static str> {
    let name: HeaderName = name.parse().map_err(|_| "a header has an invalid name")?;
    let value = value.as_str().ok_or("a header is not a string")?;
    headers.append(
        name,
        HeaderValue::from_str(value).map_err(|_| "a header has an invalid value")?,
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multi_values_keep_all_and_single_keeps_the_last() {
        let (single, multi) = single_and_multi_values(query_pairs("wait=1&wait=2%30&a+b&"));
        assert_eq!(single, json!({ "wait": "20", "a b": "" }));
        assert_eq!(multi, json!({ "wait": ["1", "20"], "a b": [""] }));
    }

    #[test]
    fn answer_without_a_status_code_is_rejected() {
        let given = json!({ "statusCode": 200, "multiValueHeaders": { "set-cookie": ["a=1", "b=2"] },
            "headers": { "set-cookie": "c=3", "x": "y" }, "body": "{}" });
        let response = parse_answer(&given).expect("an answer");
        assert_eq!(response.headers().get_all("set-cookie").iter().count(), 2);
        assert_eq!(response.headers()["x"], "y");
        assert!(parse_answer(&json!({ "errorMessage": "no" })).is_err());
    }
}
