//! Calls the function that serves the keys of passes, as API Gateway does, and reads how long it took to start.

use aws_sdk_lambda::{Client, primitives::Blob, types::LogType};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use vestibule_stack::DeployedStack;

use super::functions::ALIAS;
use crate::account_answers::{Answer, DocumentAnswer, DocumentCall};

/// What API Gateway sends for `GET /.well-known/jwks.json`.
const EVENT: &str = include_str!("../../../events/http-jwks.json");

/// Asks for the keys.
pub(super) async fn call_document(lambda: &Client, stack: &DeployedStack) -> Answer<DocumentAnswer> {
    let function = stack.outputs.get("DocumentFunction");
    let function = function.ok_or("the stack has no output DocumentFunction")?;
    let request = lambda.invoke().function_name(function).qualifier(ALIAS);
    let request = request.log_type(LogType::Tail).payload(Blob::new(EVENT));
    let answer = request.send().await;
    let answer = answer.map_err(|error| vestibule_aws::failure_reason(&error))?;
    let payload = answer.payload().map(Blob::as_ref).unwrap_or_default();
    if answer.function_error().is_some() {
        let error = String::from_utf8_lossy(payload).into_owned();
        return Ok(DocumentAnswer::Failed(error));
    }
    let response: Value = serde_json::from_slice(payload)
        .map_err(|error| format!("the answer of the function is no JSON: {error}"))?;
    let log = answer.log_result().and_then(|log| STANDARD.decode(log).ok());
    let log = log.map(|log| String::from_utf8_lossy(&log).into_owned());
    Ok(DocumentAnswer::Answered(DocumentCall {
        status: response["statusCode"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or(0),
        keys: count_keys(&response),
        init_ms: log.as_deref().and_then(read_init_ms),
    }))
}

/// How many keys for ES256 the body of an answer has.
fn count_keys(response: &Value) -> usize {
    let body = response["body"].as_str().unwrap_or_default();
    let body = if response["isBase64Encoded"] == true {
        STANDARD.decode(body).unwrap_or_default()
    } else {
        body.as_bytes().to_vec()
    };
    let keys: Value = serde_json::from_slice(&body).unwrap_or_default();
    let keys = keys["keys"].as_array().into_iter().flatten();
    keys.filter(|key| key["kty"] == "EC" && key["crv"] == "P-256")
        .count()
}

/// Reads how long the function took to start, in milliseconds, from the tail of its log: `REPORT … Init Duration: 12.3 ms`,
/// or a record `platform.report` in JSON. `None` if it ran already.
fn read_init_ms(log: &str) -> Option<f64> {
    log.lines().find_map(|line| {
        if let Some((_, rest)) = line.split_once("Init Duration: ") {
            return rest.split_whitespace().next()?.parse().ok();
        }
        let record: Value = serde_json::from_str(line).ok()?;
        record["record"]["metrics"]["initDurationMs"].as_f64()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_is_read_from_text_and_json() {
        let text = "START\nREPORT RequestId: 1\tDuration: 2.00 ms\tInit Duration: 141.52 ms\t\n";
        assert_eq!(read_init_ms(text), Some(141.52));
        let json =
            r#"{"type":"platform.report","record":{"metrics":{"durationMs":2.0,"initDurationMs":98.5}}}"#;
        assert_eq!(read_init_ms(json), Some(98.5));
        assert_eq!(read_init_ms("REPORT RequestId: 1\tDuration: 2.00 ms\n"), None);
    }
}
