//! Requests as events of API Gateway (REST, payload 1.0), and what functions answer as answers.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::gateway::plain;

/// Who calls, as far as the gateway knows.
#[derive(Debug, Default)]
pub(super) struct Caller {
    pub(super) api_key: Option<String>,
    pub(super) api_key_id: Option<String>,
    pub(super) user_arn: Option<String>,
}

/// A request that found its route.
pub(super) struct Asked<'a> {
    pub(super) parts: &'a Parts,
    pub(super) body: &'a [u8],
    pub(super) resource: &'a str,
    pub(super) stage: &'a str,
    /// As they were sent: API Gateway does not decode them.
    pub(super) parameters: Vec<(String, String)>,
    pub(super) caller: Caller,
}

impl Asked<'_> {
    pub(super) fn event(&self) -> Value {
        let (headers, multi_headers) = once_and_often(headers(&self.parts.headers));
        let (query, multi_query) = once_and_often(query(self.parts.uri.query().unwrap_or_default()));
        let path = self.parts.uri.path();
        let below_stage = path.strip_prefix(&format!("/{}", self.stage)).unwrap_or(path);
        let parameters: Map<_, _> = self
            .parameters
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        // Text as it is, anything else in base64, as where `*/*` is no binary type and text is no JSON either.
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
            "pathParameters": or_null(parameters),
            "stageVariables": null,
            "requestContext": self.context(path),
            "body": body,
            "isBase64Encoded": is_base64,
        })
    }

    fn context(&self, path: &str) -> Value {
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
            "requestTimeEpoch": u64::try_from(since_1970.as_millis()).expect("not that late"),
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

fn headers(headers: &HeaderMap) -> impl Iterator<Item = (String, String)> + '_ {
    headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.to_string(), value)
    })
}

fn query(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
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

/// The last value of each name, and all of them.
fn once_and_often(pairs: impl Iterator<Item = (String, String)>) -> (Value, Value) {
    let (mut once, mut often) = (Map::new(), Map::new());
    for (name, value) in pairs {
        let values = often.entry(name.clone()).or_insert_with(|| json!([]));
        values.as_array_mut().expect("made above").push(json!(value));
        once.insert(name, json!(value));
    }
    (or_null(once), or_null(often))
}

fn or_null(map: Map<String, Value>) -> Value {
    if map.is_empty() {
        Value::Null
    } else {
        Value::Object(map)
    }
}

/// The answer that a function gave, where it is one.
pub(super) fn answer(given: &Value) -> Result<Response, &'static str> {
    let status = given["statusCode"]
        .as_u64()
        .and_then(|status| u16::try_from(status).ok());
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    let body = given["body"].as_str().unwrap_or_default();
    // API Gateway decodes base64 only where the API lists binary types, and this one lists none.
    let mut response = plain(body.as_bytes().to_vec());
    *response.status_mut() = status.ok_or("no status code")?;
    let headers = response.headers_mut();
    let often = given["multiValueHeaders"].as_object();
    for (name, values) in often.into_iter().flatten() {
        for value in values.as_array().ok_or("a header that is no list")? {
            append(headers, name, value)?;
        }
    }
    // Where both say a header, the one with many values counts.
    for (name, value) in given["headers"].as_object().into_iter().flatten() {
        if !headers.contains_key(name) {
            append(headers, name, value)?;
        }
    }
    if !headers.contains_key(header::CONTENT_TYPE) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    Ok(response)
}

fn append(headers: &mut HeaderMap, name: &str, value: &Value) -> Result<(), &'static str> {
    let name: HeaderName = name.parse().map_err(|_| "a header's name that is none")?;
    let value = value.as_str().ok_or("a header that is no text")?;
    headers.append(
        name,
        HeaderValue::from_str(value).map_err(|_| "a header's value that is none")?,
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_are_kept_and_the_last_one_stands_alone() {
        let (once, often) = once_and_often(query("wait=1&wait=2%30&a+b&"));
        assert_eq!(once, json!({ "wait": "20", "a b": "" }));
        assert_eq!(often, json!({ "wait": ["1", "20"], "a b": [""] }));
    }

    #[test]
    fn only_what_has_a_status_is_an_answer() {
        let given = json!({ "statusCode": 200, "multiValueHeaders": { "set-cookie": ["a=1", "b=2"] },
            "headers": { "set-cookie": "c=3", "x": "y" }, "body": "{}" });
        let response = answer(&given).expect("an answer");
        assert_eq!(response.headers().get_all("set-cookie").iter().count(), 2);
        assert_eq!(response.headers()["x"], "y");
        assert!(answer(&json!({ "errorMessage": "no" })).is_err());
    }
}
