//! The origins whose pages may call the API from a browser.

use std::str::FromStr;

use axum::http::HeaderValue;

/// The origins whose pages may call the API from a browser (CORS).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// The pages of every origin, without cookies.
    Any,
    /// The pages of these origins, with cookies. An empty list allows no page.
    Listed(Vec<HeaderValue>),
}

/// A text that is no list of origins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be * or a comma-separated list of origins such as https://shop.example")]
pub struct InvalidOrigins;

impl FromStr for Origins {
    type Err = InvalidOrigins;

    /// Parses `*`, or origins that are separated by commas. A browser sends an origin as scheme, host
    /// and port, with nothing after them (RFC 6454, section 6.2).
    fn from_str(text: &str) -> Result<Self, InvalidOrigins> {
        let texts = text.split(',').map(str::trim).filter(|o| !o.is_empty());
        let texts: Vec<_> = texts.collect();
        if texts == ["*"] {
            return Ok(Self::Any);
        }
        let origins = texts.into_iter().map(|origin| {
            let host = origin
                .strip_prefix("https://")
                .or_else(|| origin.strip_prefix("http://"));
            match host {
                Some(host) if !host.is_empty() && !host.contains(['/', '*', '?', '#', '@']) => {
                    HeaderValue::from_str(origin).map_err(|_| InvalidOrigins)
                }
                _ => Err(InvalidOrigins),
            }
        });
        origins.collect::<Result<_, _>>().map(Self::Listed)
    }
}
