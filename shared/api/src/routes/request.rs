//! What handlers read from a request: ids from the path, values from the query, fields from the body. A
//! refusal names the part of the request that is invalid.

use std::str::FromStr;

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request},
    http::{StatusCode, request::Parts},
    response::IntoResponse,
};
use serde::Deserialize;
use vestibule_domain::{
    id::{EntryId, QueueId},
    score::Visit,
};
use vestibule_wire::{InvalidField, VISIT, parse_request};

use crate::{
    json::is_json,
    problem::{Code, Problem},
};

/// The largest body that a request may have, in bytes.
pub(super) const BODY_MAX: usize = 8 * 1024;

/// The most bytes of the query and of all headers together. API Gateway takes 10,240 of headers, and adds its own.
const QUERY_AND_HEADERS_MAX: usize = 16 * 1024;

/// `/queues/{queue}`
pub(super) struct QueuePath(pub(super) QueueId);

/// `/queues/{queue}/entries/{token}`
pub(super) struct EntryPath {
    pub(super) queue: QueueId,
    pub(super) id: EntryId,
}

impl<S: Send + Sync> FromRequestParts<S> for QueuePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = read_path_params(parts, state).await?;
        Ok(Self(parse_param(&params, "queue")?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for EntryPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = read_path_params(parts, state).await?;
        let queue = parse_param(&params, "queue")?;
        let id = parse_param(&params, "token")?;
        Ok(Self { queue, id })
    }
}

async fn read_path_params(parts: &mut Parts, state: &(impl Send + Sync)) -> Result<RawPathParams, Problem> {
    RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|_| Problem::invalid_field("path", "must be UTF-8 after percent-decoding"))
}

fn parse_param<T: FromStr>(params: &RawPathParams, name: &str) -> Result<T, Problem>
where
    Problem: From<T::Err>,
{
    let value = params
        .iter()
        .find(|(key, _)| *key == name)
        .map_or("", |(_, value)| value);
    Ok(value.parse()?)
}

/// The parameters of the query. The API ignores parameters that it does not know.
pub(super) struct QueryParams(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for QueryParams {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Query::try_from_uri(&parts.uri)
            .map(|Query(pairs)| Self(pairs))
            .map_err(|_| Problem::invalid_field("query", "must be name=value pairs"))
    }
}

impl QueryParams {
    /// Returns the value of a parameter, if the query has it. A parameter that is given twice is
    /// refused.
    pub(super) fn get_once(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut values = self
            .0
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(Problem::invalid_field(name, "must be given only once")),
            (value, None) => Ok(value),
        }
    }

    /// Returns the visit that the query names, if any.
    pub(super) fn visit(&self) -> Result<Option<Visit>, Problem> {
        let number = |text: &str| text.parse().ok().and_then(Visit::new).ok_or_else(invalid_visit);
        self.get_once("visit")?.map(number).transpose()
    }

    /// Whether the query says that the page of the visitor is closed.
    pub(super) fn is_closed(&self) -> Result<bool, Problem> {
        match self.get_once("closed")? {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Problem::invalid_field("closed", "must be true or false")),
        }
    }
}

fn invalid_visit() -> Problem {
    Problem::invalid_field("visit", VISIT)
}

/// A request body that was read to its end and parsed.
pub(super) struct Body<T>(pub(super) T);

impl<T, S> FromRequest<S> for Body<T>
where
    S: Send + Sync,
    T: for<'de> Deserialize<'de>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let json = is_json(request.headers());
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| {
            match rejection.into_response().status() {
                StatusCode::PAYLOAD_TOO_LARGE => Problem::new(
                    Code::BodyTooLarge,
                    format!("the body may have at most {BODY_MAX} bytes"),
                ),
                _ => Problem::invalid_field("body", "could not be read to its end"),
            }
        })?;
        // An empty body needs no content type. A body that declares another type was not meant for this
        // API.
        if json == Some(false) || (json.is_none() && !bytes.is_empty()) {
            return Err(Problem::usual(Code::UnsupportedMediaType));
        }
        let invalid = |InvalidField { field, detail }| Problem::invalid_field(field, detail);
        parse_request(&bytes).map(Self).map_err(invalid)
    }
}

/// Refuses a request whose query and headers are larger than a client needs, before anything reads them. API Gateway has
/// such a limit, too; other servers in front of these routes may have none.
///
/// # Errors
/// [`Code::HeadersTooLarge`].
pub(super) fn refuse_oversized(request: &Request) -> Result<(), Problem> {
    let headers = request.headers().iter();
    let headers: usize = headers
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if headers + request.uri().query().map_or(0, str::len) <= QUERY_AND_HEADERS_MAX {
        return Ok(());
    }
    let detail = format!("the query and the headers may have at most {QUERY_AND_HEADERS_MAX} bytes together");
    Err(Problem::new(Code::HeadersTooLarge, detail))
}
