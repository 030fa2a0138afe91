//! Which page sent a request, and which requests of pages may change something (cross-site request forgery).
//!
//! A browser sends some requests of any page without asking the API first: those that a form could send. It also sends the
//! cookies along if the page is of a sibling host. CORS keeps the page from reading the answer, and not from the
//! effect. All other requests have a preflight, which [`Origins`] decides about.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, header},
};

use crate::{
    config::{ApiConfig, Origins},
    json::is_json,
    problem::{Code, Problem},
};

/// The host that the visitor's browser names, as a distribution in front of the API copies it: the API itself sees the
/// host of the gateway. A page of another site cannot set the header, because CORS allows no such header.
const VIEWER_HOST: HeaderName = HeaderName::from_static("x-vestibule-host");

/// Refuses a write of a foreign page that came without a preflight. If pages of every origin may call the API, the write
/// counts as that of a stranger: without the visitor's cookie. A request without `Origin` comes from no page. `POST /`
/// only redirects.
///
/// # Errors
/// [`Code::ForeignOrigin`].
pub(crate) fn refuse_foreign_write(config: &ApiConfig, request: &mut Request) -> Result<(), Problem> {
    let headers = request.headers();
    let needs_no_preflight = request.method() == Method::POST && is_json(headers) != Some(true);
    let is_foreign = headers.contains_key(header::ORIGIN) && !is_own_origin(headers, config);
    if !needs_no_preflight || !is_foreign || request.uri().path() == "/" {
        return Ok(());
    }
    if config.origins == Origins::Any {
        request.headers_mut().remove(header::COOKIE);
        return Ok(());
    }
    Err(Problem::usual(Code::ForeignOrigin))
}

/// Whether the browser says that a page of this deployment sent the request, or one of an origin that may send cookies.
pub(crate) fn is_own_origin(headers: &HeaderMap, config: &ApiConfig) -> bool {
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

/// Whether the request came through a distribution that copies the host.
pub(crate) fn has_viewer_host(headers: &HeaderMap) -> bool {
    headers.contains_key(VIEWER_HOST)
}

/// The host, from the distribution or else from the request itself. Empty if it is no text.
fn read_viewer_host(headers: &HeaderMap) -> &str {
    let host = headers.get(VIEWER_HOST).or_else(|| headers.get(header::HOST));
    host.map(HeaderValue::to_str)
        .and_then(Result::ok)
        .unwrap_or_default()
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
    use axum::http::{HeaderName, HeaderValue};

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
