//! API Gateway (REST) in front of the functions: routes, keys and callers, events and answers.

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
    Failure, Lambda,
    document::Document,
    event::{self, Asked, Caller},
};

/// The largest request that API Gateway takes, in bytes.
const REQUEST_BYTES: usize = 10 * 1024 * 1024;

/// How a route is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Not at all.
    Open,
    /// By an API key in `x-api-key`.
    ApiKey,
    /// By an AWS signature. Only who signed is looked at: the signature itself is not checked here.
    Iam,
}

/// One method of one resource.
#[derive(Debug, Clone)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The resource, such as `/queues/{queue}`.
    pub resource: String,
    /// The function that answers.
    pub function: String,
    /// Who may call.
    pub guard: Guard,
}

/// What the gateway is told.
#[derive(Debug, Clone)]
pub struct Gateway {
    /// The functions behind it.
    pub lambda: Lambda,
    /// The first segment of every path.
    pub stage: String,
    /// Everything that it answers.
    pub document: Document,
    /// API keys and their ids.
    pub api_keys: HashMap<String, String>,
    /// Access key ids and the ARNs of those who sign with them.
    pub signers: HashMap<String, String>,
}

/// A gateway that listens; it stops when dropped.
#[derive(Debug)]
pub struct Listening {
    /// Where, with the stage.
    pub url: String,
    serving: AbortHandle,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Gateway {
    /// Listens on a free port.
    pub async fn listen(self) -> Listening {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address: SocketAddr = listener.local_addr().expect("an address");
        let url = format!("http://{address}/{}", self.stage);
        let routes = self.document.routes();
        let front = Front {
            gateway: self,
            routes,
        };
        let router = Router::new().fallback(handle).with_state(Arc::new(front));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Listening {
            url,
            serving: serving.abort_handle(),
        }
    }
}

/// A gateway that has read its document.
struct Front {
    gateway: Gateway,
    routes: Vec<Route>,
}

/// Why the gateway answers by itself, as AWS names it, and the status that this has by default.
type Case = (&'static str, u16);
const NO_TOKEN: Case = ("MISSING_AUTHENTICATION_TOKEN", 403);
const NO_KEY: Case = ("INVALID_API_KEY", 403);
const TOO_LARGE: Case = ("REQUEST_TOO_LARGE", 413);
const NO_FUNCTION: Case = ("INTEGRATION_FAILURE", 504);
/// What comes of a function that failed, or that answered what is no answer.
const NO_ANSWER: Case = ("DEFAULT_5XX", 502);

impl Front {
    /// The route of a path and what its parameters are, as they were sent; `None` where nothing answers there.
    fn route(&self, method: &Method, path: &str) -> Option<(&Route, Vec<(String, String)>)> {
        let path = path.strip_prefix('/')?.strip_prefix(&self.gateway.stage)?;
        let mut found: Vec<_> = self
            .routes
            .iter()
            .filter(|route| route.method == method)
            .filter_map(|route| Some((route, parameters(&route.resource, path)?)))
            .collect();
        // Of several the one that takes less by a parameter.
        found.sort_by_key(|(_, parameters)| parameters.len());
        found.into_iter().next()
    }

    /// Who calls, where the route lets them; else the gateway's own refusal.
    fn caller(&self, guard: Guard, headers: &HeaderMap) -> Result<Caller, Case> {
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
                    None => Err(NO_KEY),
                }
            }
            Guard::Iam => {
                let credential = text("authorization").and_then(access_key_id);
                match credential.and_then(|id| self.gateway.signers.get(id)) {
                    Some(arn) => Ok(Caller {
                        user_arn: Some(arn.clone()),
                        ..Caller::default()
                    }),
                    None => Err(NO_TOKEN),
                }
            }
        }
    }
}

/// `AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/execute-api/aws4_request, …`
fn access_key_id(authorization: &str) -> Option<&str> {
    let credential = authorization.strip_prefix("AWS4-HMAC-SHA256 Credential=")?;
    credential.split('/').next()
}

/// What a path says where a resource has parameters; `None` where it is another resource's.
fn parameters(resource: &str, path: &str) -> Option<Vec<(String, String)>> {
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

async fn handle(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match front.answer(&parts, body).await {
        Ok(response) => response,
        Err(case) => own_answer(&front.gateway.document, case, &parts.headers),
    }
}

impl Front {
    async fn answer(&self, parts: &Parts, body: Body) -> Result<Response, Case> {
        let (route, parameters) = self.route(&parts.method, parts.uri.path()).ok_or(NO_TOKEN)?;
        let caller = self.caller(route.guard, &parts.headers)?;
        let body = to_bytes(body, REQUEST_BYTES).await.map_err(|_| TOO_LARGE)?;
        let asked = Asked {
            parts,
            body: &body,
            resource: &route.resource,
            stage: &self.gateway.stage,
            parameters,
            caller,
        };
        match self.gateway.lambda.invoke(&route.function, &asked.event()).await {
            Ok(answer) => event::answer(&answer).map_err(|why| {
                eprintln!("gateway: {why} in {answer}");
                NO_ANSWER
            }),
            Err(failure) => {
                eprintln!("gateway: {} brought no answer: {failure:?}", route.function);
                let is_start = matches!(failure, Failure::Throttled | Failure::Init(_));
                Err(if is_start { NO_FUNCTION } else { NO_ANSWER })
            }
        }
    }
}

/// What the document says for this case.
fn own_answer(document: &Document, (case, status): Case, asked: &HeaderMap) -> Response {
    let own = document.own_answer(case, status);
    let request_id = Uuid::new_v4().to_string();
    let body = own.template.replace("$context.requestId", &request_id);
    let mut response = plain(body.into_bytes());
    *response.status_mut() = StatusCode::from_u16(own.status).expect("a status");
    for (name, value) in &own.headers {
        let quoted = value
            .strip_prefix('\'')
            .and_then(|value| value.strip_suffix('\''));
        let value = match (quoted, value.as_str()) {
            (Some(text), _) => HeaderValue::from_str(text).ok(),
            (None, "context.requestId") => HeaderValue::from_str(&request_id).ok(),
            (None, "method.request.header.origin") => asked.get(header::ORIGIN).cloned(),
            (None, other) => panic!("{other} is nothing that this gateway knows"),
        };
        if let Some(value) = value {
            let name: HeaderName = name.parse().expect("a header's name");
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// An answer of a body and nothing else.
pub(super) fn plain(body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().remove(header::CONTENT_TYPE);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_resource_that_it_fills() {
        let filled = |resource, path| parameters(resource, path).map(|p| p.len());
        assert_eq!(filled("/queues/{queue}", "/queues/a%3A1"), Some(1));
        assert_eq!(filled("/queues/{queue}", "/queues/"), None);
        assert_eq!(filled("/queues/{queue}", "/queues/a/entries"), None);
        assert_eq!(filled("/queues/{queue}/entries", "/queues/a/entries"), Some(1));
        assert_eq!(
            filled("/.well-known/jwks.json", "/.well-known/jwks.json"),
            Some(0)
        );
    }

    #[test]
    fn a_signature_names_who_signed() {
        let header = "AWS4-HMAC-SHA256 Credential=AKID/20260101/eu-west-1/execute-api/aws4_request, SignedHeaders=host";
        assert_eq!(access_key_id(header), Some("AKID"));
        assert_eq!(access_key_id("Bearer AKID/x"), None);
    }
}
