//! Translates events of API Gateway into requests for the router, and the router's answers back. It
//! accepts events of a REST API (payload 1.0), which the template creates, and of an HTTP API
//! (payload 2.0), which `cargo lambda watch` and a function URL send.
//!
//! The path is built from the event's `resource` and `pathParameters`, so stages and base paths
//! never matter. What the gateway verified about the caller travels as a request extension, which
//! no header can set.
//!
//! An event of which no request can be made is answered with a problem, like any other request that is not valid.
//!
//! # Layout
//! - `event`: what an event holds
//! - `request`, `path`, `headers`, `gateway_context`: the request that an event makes
//! - `answer`: the answer in the form of the gateway

mod answer;
mod event;
mod gateway_context;
mod headers;
mod path;
mod request;

use std::convert::Infallible;

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::Response,
};
use lambda_runtime::{Context, Error, LambdaEvent, service_fn};
use tower::ServiceExt;

pub use self::event::GatewayEvent;
use self::{answer::Answer, request::build_request};
use crate::routes::request_context::answer_without_request;

/// Serves events until the function stops.
///
/// # Errors
/// Returns an error if Lambda's runtime interface fails.
pub async fn serve(router: Router) -> Result<(), Error> {
    lambda_runtime::run_concurrent(service_fn(move |event: LambdaEvent<GatewayEvent>| {
        let router = router.clone();
        async move {
            let format = event.payload.payload_format();
            let response = handle(router, event).await;
            Ok::<_, Infallible>(Answer::new(format, response))
        }
    }))
    .await
}

/// Answers one event.
pub async fn handle(router: Router, event: LambdaEvent<GatewayEvent>) -> Response<Bytes> {
    let (parts, body) = respond(router, event.payload, &event.context).await.into_parts();
    Response::from_parts(parts, to_bytes(body, usize::MAX).await.unwrap_or_default())
}

async fn respond(router: Router, event: GatewayEvent, context: &Context) -> Response<Body> {
    let request_id = event.request_id().unwrap_or(&context.request_id).to_owned();
    match event.into_raw().and_then(|event| build_request(event, context)) {
        Ok(request) => {
            let Ok(response) = router.oneshot(request).await;
            response
        }
        Err(problem) => answer_without_request(problem, &request_id),
    }
}
