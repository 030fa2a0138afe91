//! A place between a line and its server, for tests.

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use redis::Value;

use crate::LineError;

/// Sends a request to the server, and returns its answer.
pub type Sending<'a> = BoxFuture<'a, Result<Value, LineError>>;

/// Stands between a line and its server, whichever server that is: counts requests, lets them wait or fail, or answers in
/// the place of the server.
#[async_trait]
pub trait Tap: Send + Sync {
    /// Answers a request.
    async fn answer(&self, request: &TappedRequest, sending: Sending<'_>) -> Result<Value, LineError>;
}

/// What a tap learns of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TappedRequest {
    /// The name of the script, `subscribe`, or the first command in lower case, such as `hget`.
    pub name: String,
    /// The queue whose keys the request names.
    pub queue: Option<String>,
}

/// The part of a key or channel in braces.
pub(super) fn hash_tag(key: &[u8]) -> Option<String> {
    let key = str::from_utf8(key).ok()?.strip_prefix("vestibule:{")?;
    Some(key.split_once('}')?.0.to_owned())
}
