//! What handlers read from a request: ids from the path, values from the query, fields from the body. A
//! refusal names the part of the request that is invalid.

use std::{ops::RangeInclusive, str::FromStr};

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::IntoResponse,
};
use serde_json::{Map, Value};
use vestibule_domain::{
    id::{EntryId, QueueId},
    score::Visit,
};

use super::{code::Code, problem::Problem};

/// The largest body that a request may have, in bytes.
pub(super) const BODY_MAX: usize = 8 * 1024;

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
    Problem::invalid_field(
        "visit",
        "must be the number of a visit: a whole number below 2^49",
    )
}

/// A request body that was read to its end and parsed.
pub(super) struct Body<T>(pub(super) T);

impl<T, S> FromRequest<S> for Body<T>
where
    S: Send + Sync,
    T: TryFrom<Fields, Error = Problem>,
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
            return Err(Problem::new(
                Code::UnsupportedMediaType,
                "send Content-Type: application/json",
            ));
        }
        T::try_from(Fields::parse(&bytes)?).map(Self)
    }
}

/// Whether the request declares its body as JSON; `None` if it declares no content type.
pub(super) fn is_json(headers: &HeaderMap) -> Option<bool> {
    let value = headers.get(header::CONTENT_TYPE)?;
    let essence = value
        .to_str()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    Some(essence.trim().eq_ignore_ascii_case("application/json"))
}

/// The fields of a body that have not been taken yet.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self(Map::new()));
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(Problem::invalid_field("body", "must be a JSON object")),
            // The detail gives only the position, because the text belongs to the sender.
            Err(error) => Err(Problem::invalid_field(
                "body",
                format!(
                    "is not valid JSON at line {}, column {}",
                    error.line(),
                    error.column()
                ),
            )),
        }
    }

    /// Takes a field. A `null` is a value of the wrong type, as for the gateway.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    pub(super) fn take_string(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::invalid_field(name, "must be a string")),
        }
    }

    pub(super) fn take_bool(&mut self, name: &str) -> Result<Option<bool>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(Problem::invalid_field(name, "must be true or false")),
        }
    }

    pub(super) fn take_number(
        &mut self,
        name: &str,
        range: RangeInclusive<u32>,
    ) -> Result<Option<u32>, Problem> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        value
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| range.contains(number))
            .map(Some)
            .ok_or_else(|| {
                let (min, max) = (range.start(), range.end());
                Problem::invalid_field(name, format!("must be a whole number from {min} to {max}"))
            })
    }

    pub(super) fn take_visit(&mut self) -> Result<Option<Visit>, Problem> {
        let number = |value: Value| value.as_u64().and_then(Visit::new).ok_or_else(invalid_visit);
        self.take("visit").map(number).transpose()
    }

    /// Refuses fields that the request does not have. Otherwise a misspelt field would be ignored
    /// silently.
    pub(super) fn refuse_unknown(self) -> Result<(), Problem> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some((name, _)) => Err(Problem::invalid_field(name, "is not a field of this request")),
        }
    }
}

/// A request body without fields.
pub(super) struct EmptyBody;

impl TryFrom<Fields> for EmptyBody {
    type Error = Problem;

    fn try_from(fields: Fields) -> Result<Self, Problem> {
        fields.refuse_unknown().map(|()| Self)
    }
}
