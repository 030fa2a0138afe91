//! Events of API Gateway (REST, payload 1.0) to requests of the router, and its answers back.
//!
//! The path is built anew from the event's `resource` and `pathParameters`, so that stages and base paths never matter;
//! what the gateway vouches for goes along as an extension, where no header can reach it.

use std::{
    convert::Infallible,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::{Body as AxumBody, to_bytes},
    http::{Request, Response, Uri, request::Parts},
    response::IntoResponse,
};
use lambda_http::{
    Body, Context, RequestExt, aws_lambda_events::apigw::ApiGatewayProxyRequestContext,
    aws_lambda_events::query_map::QueryMap, request::RequestContext, service_fn,
};
use percent_encoding::percent_decode_str;
use tower::ServiceExt;

use super::{gateway::Gateway, problem::Problem};
use crate::uri;

/// Serves events until the function ends.
///
/// # Errors
/// Where Lambda's runtime interface fails.
pub async fn serve(router: Router) -> Result<(), lambda_http::Error> {
    lambda_http::run_concurrent(service_fn(move |event| {
        let router = router.clone();
        async move { Ok::<_, Infallible>(handle(router, event).await) }
    }))
    .await
}

/// Answers one event.
pub async fn handle(router: Router, event: lambda_http::Request) -> Response<Body> {
    let path = path(&event);
    let gateway = gateway(&event, &path);
    let uri = match event.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let (mut parts, body) = event.into_parts();
    let response = match uri.parse::<Uri>() {
        Ok(uri) => {
            parts.uri = uri;
            answer(router, parts, body, gateway).await
        }
        Err(error) => Problem::internal(format!("no path for the event: {error}")).into_response(),
    };
    let (parts, body) = response.into_parts();
    let body = match to_bytes(body, usize::MAX).await {
        // As text: the gateway hands base64 on to the client unless it is set up for binary answers.
        Ok(bytes) => {
            String::from_utf8(bytes.into()).map_or_else(|e| Body::Binary(e.into_bytes()), Body::Text)
        }
        Err(_) => Body::Empty,
    };
    Response::from_parts(parts, body)
}

async fn answer(router: Router, mut parts: Parts, body: Body, gateway: Gateway) -> Response<AxumBody> {
    parts.extensions.insert(gateway);
    let body = match body {
        Body::Text(text) => AxumBody::from(text),
        Body::Binary(bytes) => AxumBody::from(bytes),
        _ => AxumBody::empty(),
    };
    let Ok(response) = router.oneshot(Request::from_parts(parts, body)).await;
    response
}

fn context(event: &lambda_http::Request) -> Option<&ApiGatewayProxyRequestContext> {
    match event.request_context_ref() {
        Some(RequestContext::ApiGatewayV1(context)) => Some(context),
        _ => None,
    }
}

/// The resource with its parameters filled in.
fn path(event: &lambda_http::Request) -> String {
    match context(event).and_then(|context| context.resource_path.as_deref()) {
        Some(resource) => filled(resource, &event.path_parameters()),
        None => event.raw_http_path().to_owned(),
    }
}

fn filled(resource: &str, parameters: &QueryMap) -> String {
    let segments = resource.split('/').map(|segment| {
        let name = segment
            .strip_prefix('{')
            .and_then(|segment| segment.strip_suffix('}'));
        match name {
            None => segment.to_owned(),
            Some(name) => match name.strip_suffix('+') {
                // A greedy one holds the rest of the path.
                Some(name) => {
                    let rest = parameters.first(name).unwrap_or_default();
                    rest.split('/').map(encoded).collect::<Vec<_>>().join("/")
                }
                None => encoded(parameters.first(name).unwrap_or_default()),
            },
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

/// One parameter as a segment. Gateways differ in whether they decode it: it is decoded here once, and only where it
/// holds a `%`, which no id does.
fn encoded(parameter: &str) -> String {
    let decoded = percent_decode_str(parameter).decode_utf8();
    let decoded = decoded.as_deref().unwrap_or(parameter);
    uri::encoded(decoded)
}

fn gateway(event: &lambda_http::Request, path: &str) -> Gateway {
    let lambda = event.lambda_context_ref();
    let mut gateway = Gateway {
        request_id: lambda.map(|lambda| lambda.request_id.clone()),
        deadline: lambda.and_then(deadline),
        ..Gateway::default()
    };
    if let Some(context) = context(event) {
        let identity = &context.identity;
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        gateway.request_id = context.request_id.clone().or(gateway.request_id);
        gateway.base_path = base_path(context, path);
        gateway.authorizer = context.authorizer.fields.clone().into_iter().collect();
        gateway.signer = given(&identity.user_arn).or_else(|| given(&identity.caller));
        gateway.api_key_id = given(&identity.api_key_id);
    }
    gateway.request_id = gateway.request_id.filter(|id| !id.is_empty());
    gateway
}

/// What stands before our path in the one that the client used, which has so many segments more.
fn base_path(context: &ApiGatewayProxyRequestContext, path: &str) -> String {
    let used: Vec<_> = context.path.as_deref().unwrap_or_default().split('/').collect();
    let before = used.len().saturating_sub(path.split('/').count());
    used[..=before].join("/")
}

/// When the function is stopped; `None` where nobody says.
fn deadline(lambda: &Context) -> Option<Instant> {
    if lambda.deadline == 0 {
        return None;
    }
    let at = UNIX_EPOCH + Duration::from_millis(lambda.deadline);
    let left = at.duration_since(SystemTime::now()).unwrap_or_default();
    Instant::now().checked_add(left)
}
