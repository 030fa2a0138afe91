//! Translates events of API Gateway into requests for the router, and the router's answers back. It
//! accepts events of a REST API (payload 1.0), which the template creates, and of an HTTP API
//! (payload 2.0), which `cargo lambda watch` and a function URL send.
//!
//! The path is built from the event's `resource` and `pathParameters`, so stages and base paths
//! never matter. What the gateway verified about the caller travels as a request extension, which
//! no header can set.

mod repeated_headers;

use std::{
    convert::Infallible,
    net::IpAddr,
    time::{Instant, SystemTime},
};

use axum::{
    Router,
    body::{Body as AxumBody, to_bytes},
    http::{Request, Response, Uri, request::Parts},
    response::IntoResponse,
};
use lambda_http::{
    Adapter, Body, Context, LambdaEvent, RequestExt,
    aws_lambda_events::{
        apigw::{ApiGatewayProxyRequestContext, ApiGatewayV2httpRequestContext},
        query_map::QueryMap,
    },
    request::{LambdaRequest, RequestContext},
    service_fn,
};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tower::ServiceExt;
use vestibule_domain::uri;

pub use self::repeated_headers::keep_repeated_headers;
use super::{gateway::Gateway, problem::Problem};
use crate::deadline::invocation_deadline;

/// Serves events until the function stops.
///
/// # Errors
/// Returns an error if Lambda's runtime interface fails.
pub async fn serve(router: Router) -> Result<(), lambda_http::Error> {
    let adapter = Adapter::from(service_fn(move |event| {
        let router = router.clone();
        async move { Ok::<_, Infallible>(handle(router, event).await) }
    }));
    let handler = adapter.map_request(|event: LambdaEvent<LambdaRequest>| LambdaEvent {
        payload: keep_repeated_headers(event.payload),
        context: event.context,
    });
    lambda_runtime::run_concurrent(handler).await
}

/// Answers one event, which went through [`keep_repeated_headers`].
pub async fn handle(router: Router, event: lambda_http::Request) -> Response<Body> {
    let path = request_path(&event);
    let gateway = read_gateway(&event, &path);
    let uri = match event.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let (mut parts, body) = event.into_parts();
    let response = match uri.parse::<Uri>() {
        Ok(uri) => {
            parts.uri = uri;
            call_router(router, parts, body, gateway).await
        }
        Err(error) => {
            Problem::internal(format!("cannot build a request path from the event: {error}")).into_response()
        }
    };
    let (parts, body) = response.into_parts();
    let body = match to_bytes(body, usize::MAX).await {
        // The body is text because the gateway passes base64 on to the client unless it is
        // configured for binary answers.
        Ok(bytes) => {
            String::from_utf8(bytes.into()).map_or_else(|e| Body::Binary(e.into_bytes()), Body::Text)
        }
        Err(_) => Body::Empty,
    };
    Response::from_parts(parts, body)
}

async fn call_router(router: Router, mut parts: Parts, body: Body, gateway: Gateway) -> Response<AxumBody> {
    parts.extensions.insert(gateway);
    let body = match body {
        Body::Text(text) => AxumBody::from(text),
        Body::Binary(bytes) => AxumBody::from(bytes),
        _ => AxumBody::empty(),
    };
    let Ok(response) = router.oneshot(Request::from_parts(parts, body)).await;
    response
}

/// Returns the event's resource with its parameters filled in. If the event names no resource,
/// returns the path that the client used.
fn request_path(event: &lambda_http::Request) -> String {
    let used = event.raw_http_path();
    match event.request_context_ref() {
        Some(RequestContext::ApiGatewayV1(context)) => match &context.resource_path {
            Some(resource) => fill_parameters(resource, &event.path_parameters()),
            None => used.to_owned(),
        },
        Some(RequestContext::ApiGatewayV2(context)) => {
            // A route key is like `GET /queues/{queue}`. The key `$default` names no resource.
            let route = context.route_key.as_deref().and_then(|key| key.split_once(' '));
            match route {
                Some((_, resource)) => fill_parameters(resource, &event.path_parameters()),
                None => encode_segments(strip_stage(used, context.stage.as_deref())),
            }
        }
        _ => used.to_owned(),
    }
}

/// Removes the stage from the path of an HTTP API. The stage `$default` is never in the path.
fn strip_stage<'a>(path: &'a str, stage: Option<&str>) -> &'a str {
    stage
        .and_then(|stage| path.strip_prefix('/')?.strip_prefix(stage))
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(path)
}

fn fill_parameters(resource: &str, parameters: &QueryMap) -> String {
    let segments = resource.split('/').map(|segment| {
        let name = segment
            .strip_prefix('{')
            .and_then(|segment| segment.strip_suffix('}'));
        match name {
            None => segment.to_owned(),
            Some(name) => match name.strip_suffix('+') {
                // A greedy parameter holds the rest of the path.
                Some(name) => encode_segments(parameters.first(name).unwrap_or_default()),
                None => encode_segment(parameters.first(name).unwrap_or_default()),
            },
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

fn encode_segments(path: &str) -> String {
    path.split('/').map(encode_segment).collect::<Vec<_>>().join("/")
}

/// Encodes one parameter as a path segment. Gateways differ in whether they decode parameters, so this
/// function decodes it first, exactly once. That changes only a parameter with a `%`, and no id has one.
fn encode_segment(parameter: &str) -> String {
    let decoded = percent_decode_str(parameter).decode_utf8();
    let decoded = decoded.as_deref().unwrap_or(parameter);
    uri::percent_encode(decoded)
}

fn read_gateway(event: &lambda_http::Request, path: &str) -> Gateway {
    let lambda = event.lambda_context_ref();
    let mut gateway = match event.request_context_ref() {
        Some(RequestContext::ApiGatewayV1(context)) => read_rest_api_context(context, path),
        Some(RequestContext::ApiGatewayV2(context)) => read_http_api_context(context, path),
        _ => Gateway::default(),
    };
    let invocation = lambda.map(|lambda| lambda.request_id.clone());
    gateway.request_id = non_empty(gateway.request_id.as_ref()).or_else(|| non_empty(invocation.as_ref()));
    gateway.deadline = lambda.and_then(function_deadline);
    gateway
}

fn read_rest_api_context(context: &ApiGatewayProxyRequestContext, path: &str) -> Gateway {
    let identity = &context.identity;
    Gateway {
        request_id: context.request_id.clone(),
        base_path: base_path(context.path.as_deref(), path),
        authorizer: context.authorizer.fields.clone().into_iter().collect(),
        signer: non_empty(identity.user_arn.as_ref()).or_else(|| non_empty(identity.caller.as_ref())),
        api_key_id: non_empty(identity.api_key_id.as_ref()),
        client_address: parse_address(identity.source_ip.as_ref()),
        ..Gateway::default()
    }
}

/// Reads the context of an HTTP API or a function URL (payload 2.0). Neither has API keys.
fn read_http_api_context(context: &ApiGatewayV2httpRequestContext, path: &str) -> Gateway {
    let mut gateway = Gateway {
        request_id: context.request_id.clone(),
        base_path: base_path(context.http.path.as_deref(), path),
        client_address: parse_address(context.http.source_ip.as_ref()),
        ..Gateway::default()
    };
    if let Some(authorizer) = &context.authorizer {
        gateway.authorizer = authorizer.fields.clone().into_iter().collect();
        if let Some(jwt) = &authorizer.jwt {
            let claims = jwt.claims.clone().into_iter();
            let claims = claims.map(|(name, value)| (name, Value::String(value))).collect();
            gateway
                .authorizer
                .insert("claims".to_owned(), Value::Object(claims));
        }
        if let Some(iam) = &authorizer.iam {
            gateway.signer = non_empty(iam.user_arn.as_ref()).or_else(|| non_empty(iam.caller_id.as_ref()));
        }
    }
    gateway
}

fn parse_address(text: Option<&String>) -> Option<IpAddr> {
    text.and_then(|text| text.parse().ok())
}

fn non_empty(value: Option<&String>) -> Option<String> {
    value.filter(|value| !value.is_empty()).cloned()
}

/// Returns what precedes the API's own path in the path that the client used. It is as many
/// segments as the client's path has more.
fn base_path(used: Option<&str>, path: &str) -> String {
    let used: Vec<_> = used.unwrap_or_default().split('/').collect();
    let before = used.len().saturating_sub(path.split('/').count());
    used[..=before].join("/")
}

/// When Lambda stops the function; `None` if the context has no deadline.
fn function_deadline(lambda: &Context) -> Option<Instant> {
    if lambda.deadline == 0 {
        return None;
    }
    let time_left = invocation_deadline(lambda)
        .duration_since(SystemTime::now())
        .unwrap_or_default();
    Instant::now().checked_add(time_left)
}
