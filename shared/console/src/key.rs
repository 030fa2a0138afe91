//! The key of a console: a random text in the address that the program prints. Any process and any login of the machine can
//! reach the port, and an order has the rights of the operator. So each route demands the key.
//!
//! The address opens the page and leaves the key in a cookie, with which the page sends its requests. The page is served
//! without a redirect: a browser sends no `SameSite=Strict` cookie after one that another site began. Cookies do not
//! separate the ports of a host, so the name of the cookie has the port that the browser sees. With it, a browser keeps the
//! keys of several consoles.

use std::fmt;

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, header::COOKIE},
};
use url::form_urlencoded;

use crate::{files::PAGE, host::named_port};

/// The part of the address that has the key.
const KEY_FIELD: &str = "key";

/// The key of one run of a console. `Debug` prints `***`.
pub(crate) struct ConsoleKey(String);

impl fmt::Debug for ConsoleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConsoleKey(***)")
    }
}

impl ConsoleKey {
    /// Draws a key of 256 bits.
    pub(crate) fn draw() -> Self {
        let [first, second] = [rand::random::<u128>(), rand::random::<u128>()];
        Self(format!("{first:032x}{second:032x}"))
    }

    /// The path and query that open the page.
    pub(crate) fn page_path(&self) -> String {
        format!("{PAGE}?{KEY_FIELD}={}", self.0)
    }

    pub(crate) fn is_in_query(&self, request: &Request) -> bool {
        let query = request.uri().query().unwrap_or_default().as_bytes();
        form_urlencoded::parse(query).any(|(name, value)| name == KEY_FIELD && self.equals(&value))
    }

    pub(crate) fn is_in_cookie(&self, headers: &HeaderMap) -> bool {
        let name = cookie_name(headers);
        let cookies = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok());
        cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .any(|(cookie, value)| cookie == name && self.equals(value))
    }

    /// Takes the same time for all texts of the right length, so that no part of the key can be found by itself.
    fn equals(&self, text: &str) -> bool {
        let pairs = self.0.bytes().zip(text.bytes());
        text.len() == self.0.len()
            && pairs.fold(0, |difference, (own, other)| difference | (own ^ other)) == 0
    }

    /// The cookie that has the key. It ends with the browser.
    pub(crate) fn cookie(&self, headers: &HeaderMap) -> HeaderValue {
        let name = cookie_name(headers);
        let cookie = format!("{name}={}; Path=/operate; HttpOnly; SameSite=Strict", self.0);
        HeaderValue::try_from(cookie).expect("a port and hexadecimal digits fit into a header")
    }
}

/// The name of the cookie at the port that a request names.
fn cookie_name(headers: &HeaderMap) -> String {
    format!("vestibule-console-{}", named_port(headers))
}

#[cfg(test)]
mod tests {
    use axum::http::header::HOST;

    use super::*;

    fn headers(host: &str, cookies: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(HOST, host.parse().expect("a value"))]);
        for cookie in cookies {
            headers.append(COOKIE, cookie.parse().expect("a value"));
        }
        headers
    }

    #[test]
    fn a_cookie_counts_at_the_port_that_it_names() {
        let key = ConsoleKey::draw();
        let cookie = format!("vestibule-console-8090={}", key.0);
        let among_others = format!("a=b; vestibule-console-80=x;{cookie}");
        for cookies in [&[&*cookie][..], &[&*among_others], &["a=b", &*cookie]] {
            assert!(
                key.is_in_cookie(&headers("localhost:8090", cookies)),
                "{cookies:?}"
            );
            assert!(
                !key.is_in_cookie(&headers("localhost:8091", cookies)),
                "{cookies:?}"
            );
        }
        let other = format!("vestibule-console-8090={}", ConsoleKey::draw().0);
        for wrong in ["", "vestibule-console-8090=", &other, &cookie[..cookie.len() - 1]] {
            assert!(!key.is_in_cookie(&headers("localhost:8090", &[wrong])), "{wrong}");
        }
    }
}
