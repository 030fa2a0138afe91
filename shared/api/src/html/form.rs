//! Accepts a form of an own page only (cross-site request forgery).
//!
//! A page of another site can send a form to the API, but it cannot choose the `Origin`, which every browser adds to a
//! `POST`. The cookie must be there, too: it is same-site, and without one a second click would be a second visitor.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, header},
};

use crate::{
    code::Code,
    config::{ApiConfig, Origins},
    problem::Problem,
    viewer_host::read_viewer_host,
    visitor::has_visitor_cookie,
};

/// Refuses a form that no page of this deployment sent, or whose visitor has no cookie.
///
/// # Errors
/// [`Code::ForeignOrigin`], [`Code::CookieRequired`].
pub(super) fn require_own_page(headers: &HeaderMap, config: &ApiConfig) -> Result<(), Problem> {
    if !is_own_origin(headers, config) {
        return Err(Problem::new(
            Code::ForeignOrigin,
            "a form must come from a page of this API, with the header Origin that says so",
        ));
    }
    if !has_visitor_cookie(headers, config.local) {
        return Err(Problem::new(
            Code::CookieRequired,
            "a form must come with the visitor cookie, which GET on the entries of the queue sets",
        ));
    }
    Ok(())
}

/// Turns a form without fields into the JSON request that does the same.
pub(super) fn into_json_request(request: Request) -> Request {
    let (mut parts, _) = request.into_parts();
    for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
        parts.headers.remove(name);
    }
    let json = HeaderValue::from_static("application/json");
    parts.headers.insert(header::CONTENT_TYPE, json);
    Request::from_parts(parts, Body::empty())
}

/// Whether the browser says that a page of this deployment sent the request, or one of an origin that may send cookies.
fn is_own_origin(headers: &HeaderMap, config: &ApiConfig) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else {
        return false;
    };
    if let Origins::Listed(listed) = &config.origins
        && listed.contains(origin)
    {
        return true;
    }
    let host = read_viewer_host(headers);
    let (scheme, origin_host) = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"))
        .unwrap_or_default();
    // A proxy may name the host without its port.
    let origin_host = if has_port(host) {
        origin_host
    } else {
        without_port(origin_host)
    };
    let is_own_scheme = scheme == "https" || (config.local && scheme == "http");
    is_own_scheme && !host.is_empty() && origin_host.eq_ignore_ascii_case(host)
}

fn has_port(host: &str) -> bool {
    without_port(host) != host
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    fn is_own(local: bool, pairs: &[(&'static str, &'static str)]) -> bool {
        let config = ApiConfig {
            origins: Origins::Listed(vec![HeaderValue::from_static("https://listed.example")]),
            local,
            ..ApiConfig::default()
        };
        is_own_origin(&headers(pairs), &config)
    }

    #[test]
    fn a_form_comes_from_the_host_to_which_it_goes() {
        let to = ("host", "room.example");
        assert!(is_own(false, &[to, ("origin", "https://room.example")]));
        assert!(is_own(false, &[to, ("origin", "https://listed.example")]));
        assert!(is_own(
            true,
            &[("host", "127.0.0.1:8080"), ("origin", "http://127.0.0.1:8080")]
        ));
        for foreign in [
            "https://evil.example",
            "https://room.example.evil.example",
            "http://room.example",
            "room.example",
            "null",
            "",
        ] {
            assert!(!is_own(false, &[to, ("origin", foreign)]), "{foreign}");
        }
        let with_port = ("host", "room.example:8443");
        assert!(is_own(
            false,
            &[with_port, ("origin", "https://room.example:8443")]
        ));
        assert!(!is_own(
            false,
            &[with_port, ("origin", "https://room.example:8444")]
        ));
        assert!(!is_own(false, &[to]), "a browser names the origin of a form");
        assert!(!is_own(false, &[("origin", "https://")]));
    }

    #[test]
    fn two_origins_are_none() {
        let mut both = headers(&[("host", "room.example"), ("origin", "https://room.example")]);
        both.append(header::ORIGIN, HeaderValue::from_static("https://room.example"));
        assert!(!is_own_origin(&both, &ApiConfig::default()));
    }

    #[test]
    fn the_host_behind_a_distribution_is_that_of_the_viewer() {
        let gateway = ("host", "api.execute-api.example");
        let viewer = ("x-vestibule-host", "room.example");
        assert!(is_own(
            false,
            &[gateway, viewer, ("origin", "https://room.example")]
        ));
        assert!(!is_own(
            false,
            &[gateway, viewer, ("origin", "https://api.execute-api.example")]
        ));
    }
}
