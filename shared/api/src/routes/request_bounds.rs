//! Refuses requests whose query and headers are larger than a client needs, before anything reads them. API Gateway has
//! such a limit, too; other servers in front of these routes may have none.

use axum::extract::Request;

use crate::problem::{Code, Problem};

/// The most bytes of the query and of all headers together. API Gateway takes 10,240 of headers, and adds its own.
const BYTES_MAX: usize = 16 * 1024;

/// Refuses a request with more than that.
///
/// # Errors
/// [`Code::HeadersTooLarge`].
pub(crate) fn refuse_oversized(request: &Request) -> Result<(), Problem> {
    let headers = request.headers().iter();
    let headers: usize = headers
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if headers + request.uri().query().map_or(0, str::len) <= BYTES_MAX {
        return Ok(());
    }
    let detail = format!("the query and the headers may have at most {BYTES_MAX} bytes together");
    Err(Problem::new(Code::HeadersTooLarge, detail))
}
