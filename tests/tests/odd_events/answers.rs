//! What each function must answer, whatever it was sent.

use serde_json::Value;
use vestibule_tests::lambda::InvocationError;

/// What Lambda has from a function.
type Answer = Result<Value, InvocationError>;

/// An HTTP answer that API Gateway takes. A refusal is a problem, and no event is a fault of Vestibule.
pub(crate) fn is_http(answer: &Answer) -> Result<(), String> {
    let answer = answer.as_ref().map_err(|_| "no answer")?;
    let status = answer["statusCode"].as_u64().ok_or("no status")?;
    if !(200..600).contains(&status) || status == 500 {
        return Err(format!("the status is {status}"));
    }
    let body = answer["body"].as_str().ok_or("no body")?;
    if status < 400 {
        return Ok(());
    }
    match (content_type(answer), serde_json::from_str::<Value>(body)) {
        (Some("application/problem+json"), Ok(problem)) if problem["status"] == status => Ok(()),
        // The answer to `HEAD` has no body.
        (Some("application/problem+json"), _) if body.is_empty() => Ok(()),
        // A browser without JavaScript reads a page.
        (Some(page), _) if page.starts_with("text/html") => Ok(()),
        _ => Err("the refusal is no problem".to_owned()),
    }
}

fn content_type(answer: &Value) -> Option<&str> {
    let multiple = &answer["multiValueHeaders"]["content-type"][0];
    multiple.as_str().or(answer["headers"]["content-type"].as_str())
}

/// A policy, a simple response, or the error that no authorizer receives such an event.
pub(crate) fn is_of_an_authorizer(answer: &Answer) -> Result<(), String> {
    match answer {
        Ok(answer) if answer["isAuthorized"].is_boolean() => Ok(()),
        Ok(answer) if answer["policyDocument"]["Statement"][0]["Effect"].is_string() => Ok(()),
        other => is_function_error(other),
    }
}

/// The result of a command or its problem, or the error that the payload is no JSON.
pub(crate) fn is_of_admin(answer: &Answer) -> Result<(), String> {
    match answer {
        Ok(answer) if answer["ok"] == true => Ok(()),
        Ok(answer) if answer["problem"]["code"].is_string() => Ok(()),
        other => is_function_error(other),
    }
}

/// A page, or the error that the payload is no JSON.
pub(crate) fn is_of_the_widget(answer: &Answer) -> Result<(), String> {
    match answer {
        Ok(Value::String(_)) => Ok(()),
        other => is_function_error(other),
    }
}

/// Nothing, or the error that the payload is no JSON.
pub(crate) fn is_of_the_promoter(answer: &Answer) -> Result<(), String> {
    match answer {
        Ok(Value::Null) => Ok(()),
        other => is_function_error(other),
    }
}

/// An error that the function reported, so that its process takes the next invocation. A panic is reported as well, and is
/// none of these.
fn is_function_error(answer: &Answer) -> Result<(), String> {
    match answer {
        Err(InvocationError::Function(error)) if !error.to_string().contains("panicked") => Ok(()),
        _ => Err("it is no answer of this function".to_owned()),
    }
}
