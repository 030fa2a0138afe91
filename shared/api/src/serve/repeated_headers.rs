//! Keeps all values of a repeated header of an event, so that a route which accepts one can refuse it.
//!
//! An event of a REST API has the last value of each header in `headers` and all values in `multiValueHeaders`.
//! `lambda_http` lets the last value replace the others. A gateway, proxy or log in front that reads the first value
//! would then see another visitor than Vestibule.

use axum::http::{HeaderMap, HeaderValue};
use lambda_http::request::LambdaRequest;

use crate::visitor::VISITOR_ID;

/// Returns the event with all values of each header.
#[must_use]
pub fn keep_repeated_headers(mut event: LambdaRequest) -> LambdaRequest {
    match &mut event {
        LambdaRequest::ApiGatewayV1(event) => {
            let all = &event.multi_value_headers;
            for name in all.keys().filter(|name| all.get_all(*name).iter().count() > 1) {
                event.headers.remove(name);
            }
        }
        LambdaRequest::ApiGatewayV2(event) => split_visitor_id(&mut event.headers),
        _ => {}
    }
    event
}

/// Splits the value of `X-Visitor-Id` at its commas. An HTTP API joins the values of a repeated header with
/// commas, so a value with a comma may be one or several. It counts as several.
fn split_visitor_id(headers: &mut HeaderMap) {
    let Some(joined) = headers.remove(VISITOR_ID) else {
        return;
    };
    for value in joined.as_bytes().split(|byte| *byte == b',') {
        let value = HeaderValue::from_bytes(value).expect("a part of a header value is one");
        headers.append(VISITOR_ID, value);
    }
}
