//! Which host a request may name. A console listens on this machine only, and a page of another site can reach it
//! from the user's browser: if the site lets its own name lead to 127.0.0.1 (DNS rebinding), the browser takes the
//! answers for the site's own. Such a request names the site in `Host`.

use axum::http::{HeaderMap, header::HOST};

/// Whether a request names this machine, or one of the further hosts.
pub fn names_this_machine(headers: &HeaderMap, further_hosts: &[String]) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts
        .next()
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let name = without_port(host);
    let is_further = || {
        further_hosts
            .iter()
            .any(|further| further.eq_ignore_ascii_case(name))
    };
    hosts.next().is_none() && (is_loopback(name) || is_further())
}

/// The port that a request names: that of the address in the browser, also behind a container or a tunnel with a port of
/// their own.
pub(crate) fn named_port(headers: &HeaderMap) -> &str {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.and_then(|host| split_port(host).1).unwrap_or("80")
}

fn without_port(host: &str) -> &str {
    split_port(host).0
}

fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (name, Some(port))
        }
        _ => (host, None),
    }
}

/// The names that lead to this machine whatever a name server says (RFC 6761, section 6.3).
fn is_loopback(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(&*name, "localhost" | "127.0.0.1" | "[::1]") || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_count_as_loopback() {
        for local in [
            "localhost",
            "LOCALHOST:8080",
            "shop.localhost:8080",
            "127.0.0.1",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:8080",
        ] {
            assert!(is_loopback(without_port(local)), "{local}");
        }
        for foreign in [
            "",
            "evil.example",
            "localhost.evil.example",
            "evillocalhost",
            "127.0.0.1.evil.example:80",
            "127.0.0.2",
            "0.0.0.0:8080",
            "::1",
            "localhost:x",
            "localhost:80@evil.example",
            "evil.example:80, localhost",
        ] {
            assert!(!is_loopback(without_port(foreign)), "{foreign}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        let mut headers = HeaderMap::new();
        assert!(!names_this_machine(&headers, &[]));
        headers.append(HOST, "localhost".parse().expect("a value"));
        assert!(names_this_machine(&headers, &[]));
        headers.append(HOST, "evil.example".parse().expect("a value"));
        assert!(!names_this_machine(&headers, &[]));
    }

    #[test]
    fn further_hosts_may_be_named() {
        let further = ["host.docker.internal".to_owned()];
        let is_allowed = |host: &str| {
            let headers = HeaderMap::from_iter([(HOST, host.parse().expect("a value"))]);
            names_this_machine(&headers, &further)
        };
        assert!(is_allowed("Host.Docker.Internal:8080") && is_allowed("localhost"));
        assert!(!is_allowed("docker.internal") && !is_allowed("a.host.docker.internal"));
    }
}
