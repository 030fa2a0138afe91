//! API Gateway (REST) in front of the functions: matches routes, checks guards, and converts requests and answers.

use std::{collections::HashMap, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
};
use tokio::{net::TcpListener, task::AbortHandle};
use uuid::Uuid;

use super::{
    InvocationError, Lambda,
    document::Document,
    event::{self, Caller, RoutedRequest},
};

/// The largest request body that API Gateway accepts.
const REQUEST_MAX_BYTES: usize = 10 * 1024 * 1024;

/// How a route is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Any caller is allowed.
    Open,
    /// The caller sends an API key in `x-api-key`.
    ApiKey,
    /// The caller signs the request. This gateway reads the signer from the signature and does not verify it.
    Iam,
}

/// One method of one resource.
#[derive(Debug, Clone)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path template, such as `/queues/{queue}`.
    pub resource: String,
    /// The name of the function that answers.
    pub function: String,
    /// How the route is guarded.
    pub guard: Guard,
}

/// The settings of a gateway.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// The functions behind it.
    pub lambda: Lambda,
    /// The first segment of every path.
    pub stage: String,
    /// The API document.
    pub document: Document,
    /// The ids of the API keys, by key.
    pub api_keys: HashMap<String, String>,
    /// The ARNs of the signers, by access key id.
    pub signers: HashMap<String, String>,
}

/// A gateway that listens. Dropping it stops the gateway.
#[derive(Debug)]
pub struct RunningGateway {
    /// The URL with the stage.
    pub url: String,
    server: AbortHandle,
}

impl Drop for RunningGateway {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl GatewayConfig {
    /// Starts the gateway on a free port.
    pub async fn listen(self) -> RunningGateway {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address: SocketAddr = listener.local_addr().expect("an address");
        let url = format!("http://{address}/{}", self.stage);
        let routes = self.document.routes();
        let state = GatewayState {
            gateway: self,
            routes,
        };
        let router = Router::new().fallback(handle).with_state(Arc::new(state));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        RunningGateway {
            url,
            server: server.abort_handle(),
        }
    }
}

/// A gateway with the routes of its document.
struct GatewayState {
    gateway: GatewayConfig,
    routes: Vec<Route>,
}

/// Why the gateway answers without a function: the name of the case in AWS, and its default status.
type ErrorCase = (&'static str, u16);
const MISSING_TOKEN: ErrorCase = ("MISSING_AUTHENTICATION_TOKEN", 403);
const INVALID_KEY: ErrorCase = ("INVALID_API_KEY", 403);
const TOO_LARGE: ErrorCase = ("REQUEST_TOO_LARGE", 413);
const FUNCTION_UNAVAILABLE: ErrorCase = ("INTEGRATION_FAILURE", 504);
/// The function failed, or its answer is not valid.
const INVALID_ANSWER: ErrorCase = ("DEFAULT_5XX", 502);

impl GatewayState {
    /// Finds the route for a path, with the path parameters as the client sent them. `None` if no route matches.
    fn find_route(&self, method: &Method, path: &str) -> Option<(&Route, Vec<(String, String)>)> {
        let path = path.strip_prefix('/')?.strip_prefix(&self.gateway.stage)?;
        let mut found: Vec<_> = self
            .routes
            .iter()
            .filter(|route| route.method == method)
            .filter_map(|route| Some((route, match_path(&route.resource, path)?)))
            .collect();
        // If several routes match, the one with the fewest parameters wins.
        found.sort_by_key(|(_, parameters)| parameters.len());
        found.into_iter().next()
    }

    /// Identifies the caller, or returns the case in which the gateway refuses the request.
    fn authorize(&self, guard: Guard, headers: &HeaderMap) -> Result<Caller, ErrorCase> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        match guard {
            Guard::Open => Ok(Caller::default()),
            Guard::ApiKey => {
                let key = text("x-api-key")
                    .and_then(|key| Some((key.to_owned(), self.gateway.api_keys.get(key)?.clone())));
                match key {
                    Some((api_key, api_key_id)) => Ok(Caller {
                        api_key: Some(api_key),
                        api_key_id: Some(api_key_id),
                        ..Caller::default()
                    }),
                    None => Err(INVALID_KEY),
                }
            }
            Guard::Iam => {
                let credential = text("authorization").and_then(access_key_id);
                match credential.and_then(|id| self.gateway.signers.get(id)) {
                    Some(arn) => Ok(Caller {
                        user_arn: Some(arn.clone()),
                        ..Caller::default()
                    }),
                    None => Err(MISSING_TOKEN),
                }
            }
        }
    }
}

/// Reads `AKID` from `AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/execute-api/aws4_request, …`.
fn access_key_id(authorization: &str) -> Option<&str> {
    let credential = authorization.strip_prefix("AWS4-HMAC-SHA256 Credential=")?;
    credential.split('/').next()
}

/// The path parameters if the path matches the template `resource`, also with a slash at its end. `None` if it does not match.
fn match_path(resource: &str, path: &str) -> Option<Vec<(String, String)>> {
    let path = path
        .strip_suffix('/')
        .filter(|rest| !rest.is_empty())
        .unwrap_or(path);
    let (wanted, given): (Vec<_>, Vec<_>) = (resource.split('/').collect(), path.split('/').collect());
    if wanted.len() != given.len() {
        return None;
    }
    let mut parameters = Vec::new();
    for (wanted, given) in wanted.into_iter().zip(given) {
        match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) if !given.is_empty() => parameters.push((name.to_owned(), given.to_owned())),
            None if wanted == given => {}
            _ => return None,
        }
    }
    Some(parameters)
}

async fn handle(State(state): State<Arc<GatewayState>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match state.invoke_function(&parts, body).await {
        Ok(response) => response,
        Err(case) => gateway_response(&state.gateway.document, case, &parts.headers),
    }
}

impl GatewayState {
    async fn invoke_function(&self, parts: &Parts, body: Body) -> Result<Response, ErrorCase> {
        let (route, parameters) = self
            .find_route(&parts.method, parts.uri.path())
            .ok_or(MISSING_TOKEN)?;
        let caller = self.authorize(route.guard, &parts.headers)?;
        let body = to_bytes(body, REQUEST_MAX_BYTES).await.map_err(|_| TOO_LARGE)?;
        let request = RoutedRequest {
            parts,
            body: &body,
            resource: &route.resource,
            stage: &self.gateway.stage,
            parameters,
            caller,
        };
        match self
            .gateway
            .lambda
            .invoke(&route.function, &request.to_event())
            .await
        {
            Ok(answer) => event::parse_answer(&answer).map_err(|reason| {
                eprintln!("gateway: the function gave an invalid answer: {reason} in {answer}");
                INVALID_ANSWER
            }),
            Err(failure) => {
                eprintln!(
                    "gateway: the invocation of {} failed: {failure:?}",
                    route.function
                );
                let has_not_started =
                    matches!(failure, InvocationError::Throttled | InvocationError::Init(_));
                Err(if has_not_started {
                    FUNCTION_UNAVAILABLE
                } else {
                    INVALID_ANSWER
                })
            }
        }
    }
}

/// Builds the gateway response that the document defines for this case. AWS supports no own answer to a request that is
/// too large: <https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html>.
fn gateway_response(document: &Document, (case, status): ErrorCase, request_headers: &HeaderMap) -> Response {
    if (case, status) == TOO_LARGE {
        let mut response = Response::new(Body::from("HTTP content length exceeded 10485760 bytes."));
        *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
        return response;
    }
    let defined = document.gateway_response(case, status);
    let request_id = Uuid::new_v4().to_string();
    let body = defined.template.replace("$context.requestId", &request_id);
    let mut response = body_only_response(body.into_bytes());
    *response.status_mut() = StatusCode::from_u16(defined.status).expect("a status");
    for (name, value) in &defined.headers {
        let quoted = value
            .strip_prefix('\'')
            .and_then(|value| value.strip_suffix('\''));
        let value = match (quoted, value.as_str()) {
            (Some(text), _) => HeaderValue::from_str(text).ok(),
            (None, "context.requestId") => HeaderValue::from_str(&request_id).ok(),
            (None, "method.request.header.origin") => request_headers.get(header::ORIGIN).cloned(),
            (None, other) => panic!("this gateway does not know the variable {other}"),
        };
        if let Some(value) = value {
            let name: HeaderName = name.parse().expect("a header's name");
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// A response with a body and no headers.
pub(super) fn body_only_response(body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().remove(header::CONTENT_TYPE);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_matches_the_template_with_its_parameters() {
        let parameter_count = |resource, path| match_path(resource, path).map(|p| p.len());
        assert_eq!(parameter_count("/queues/{queue}", "/queues/a%3A1"), Some(1));
        assert_eq!(parameter_count("/queues/{queue}", "/queues/"), None);
        assert_eq!(parameter_count("/queues/{queue}", "/queues/a/entries"), None);
        assert_eq!(
            parameter_count("/queues/{queue}/entries", "/queues/a/entries"),
            Some(1)
        );
        assert_eq!(
            parameter_count("/.well-known/jwks.json", "/.well-known/jwks.json"),
            Some(0)
        );
    }

    #[test]
    fn authorization_header_gives_the_access_key_id() {
        let header = "AWS4-HMAC-SHA256 Credential=AKID/20260101/eu-west-1/execute-api/aws4_request, SignedHeaders=host";
        assert_eq!(access_key_id(header), Some("AKID"));
        assert_eq!(access_key_id("Bearer AKID/x"), None);
    }
}
