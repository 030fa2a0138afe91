//! Calls each function that serves visitors, as API Gateway does, so that Lambda starts it. The call goes to Lambda itself:
//! what answers is the code of the function, and not the gateway. It names a queue that does not exist, so it changes nothing.

use aws_sdk_lambda::{
    Client,
    error::SdkError,
    operation::invoke::{InvokeError, InvokeOutput},
    primitives::Blob,
    types::LogType,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use futures_util::future::join_all;
use serde_json::Value;
use vestibule_aws::stack::DeployedStack;

use super::{functions::ALIAS, start_events::start_events, start_log::StartLog};
use crate::account_answers::{Answer, FunctionCall, FunctionReply, StartAnswer};

/// The function that the API does not call.
const AUTHORIZER: &str = "Authorizer";
/// The status of Lambda's answer if it could not start the function.
const NOT_STARTED: u16 = 502;
/// The status of a denial by the authorizer, which answers with a policy.
const DENIED: u16 = 403;

/// Calls the functions at the same time. A function that the stack does not have is left out.
pub(super) async fn call_functions(lambda: &Client, stack: &DeployedStack) -> Vec<StartAnswer> {
    let claim = stack.parameters.get("VisitorClaim").map_or("sub", String::as_str);
    let calls = start_events(claim).into_iter().filter_map(|(name, event)| {
        let function = stack.outputs.get(&format!("{name}Function"))?;
        // The API calls its functions by an alias. The owner's API calls the authorizer itself.
        let alias = (name != AUTHORIZER).then_some(ALIAS);
        Some(async move {
            StartAnswer {
                name,
                call: call(lambda, function, alias, &event).await,
            }
        })
    });
    join_all(calls).await
}

async fn call(lambda: &Client, function: &str, alias: Option<&str>, event: &Value) -> Answer<FunctionCall> {
    let request = lambda.invoke().function_name(function);
    let request = request
        .set_qualifier(alias.map(str::to_owned))
        .log_type(LogType::Tail)
        .payload(Blob::new(event.to_string()));
    match request.send().await {
        Ok(answer) => read_answer(&answer),
        Err(error) if has_not_started(&error) => {
            Ok(FunctionCall::Failed(vestibule_aws::failure_reason(&error)))
        }
        Err(error) => Err(vestibule_aws::failure_reason(&error)),
    }
}

/// Whether Lambda tried to start the function: a key, a subnet or the code of it cannot be used.
fn has_not_started(error: &SdkError<InvokeError>) -> bool {
    error
        .raw_response()
        .is_some_and(|response| response.status().as_u16() == NOT_STARTED)
}

fn read_answer(answer: &InvokeOutput) -> Answer<FunctionCall> {
    let payload = answer.payload().map(Blob::as_ref).unwrap_or_default();
    let log = answer.log_result().and_then(|log| STANDARD.decode(log).ok());
    let log = log.map(|log| String::from_utf8_lossy(&log).into_owned());
    let log = StartLog(log.unwrap_or_default());
    if answer.function_error().is_some() {
        let error = String::from_utf8_lossy(payload);
        let cause = log.cause().map(|cause| format!("; its log says: {cause}"));
        return Ok(FunctionCall::Failed(format!(
            "{error}{}",
            cause.unwrap_or_default()
        )));
    }
    let response: Value = serde_json::from_slice(payload)
        .map_err(|error| format!("the answer of the function is no JSON: {error}"))?;
    Ok(FunctionCall::Answered(FunctionReply {
        status: read_status(&response),
        body: read_body(&response),
        init_ms: log.init_ms(),
        troubles: log.troubles(),
    }))
}

/// The HTTP status of an answer; 0 if it has none.
fn read_status(response: &Value) -> u16 {
    if response["policyDocument"]["Statement"][0]["Effect"] == "Deny" {
        return DENIED;
    }
    let status = response["statusCode"].as_u64();
    status.and_then(|status| u16::try_from(status).ok()).unwrap_or(0)
}

/// The JSON in the body of an answer, or in the context of the authorizer's policy.
fn read_body(response: &Value) -> Value {
    if response["context"].is_object() {
        return response["context"].clone();
    }
    let body = response["body"].as_str().unwrap_or_default();
    let body = if response["isBase64Encoded"] == true {
        STANDARD.decode(body).unwrap_or_default()
    } else {
        body.as_bytes().to_vec()
    };
    serde_json::from_slice(&body).unwrap_or_default()
}
