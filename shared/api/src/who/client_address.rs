//! The address from which a client sends a request.
//!
//! It comes from the gateway's own context. Behind a distribution that is the distribution's address, so a request
//! that proves by the [`OriginKey`] that it went through the distribution has the address in `CloudFront-Viewer-Address`.
//! A process that cannot read the key cannot tell whether a request with that proof went through the distribution, so the
//! address is then unknown. `X-Forwarded-For` never counts, because a client can write it.
//!
//! Where visitors come by the distribution only ([`VisitorsBy`]), a request to enter without that proof is refused.

use std::{convert::Infallible, fmt, net::IpAddr, sync::Arc};

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderMap, HeaderName, request::Parts},
};

use super::{
    Identity,
    gateway::Gateway,
    origin_key::{OriginKey, OriginKeyState},
};
use crate::{
    config::VisitorsBy,
    problem::{Code, Problem},
};

/// The header with the distribution's secret.
const ORIGIN_KEY: HeaderName = HeaderName::from_static("x-vestibule-origin");
/// The header in which `CloudFront` names the client: its address and port.
const VIEWER_ADDRESS: HeaderName = HeaderName::from_static("cloudfront-viewer-address");

/// The address of a client that is connected to this process itself, without a gateway. The server of such a process
/// puts it into the extensions of each request.
#[derive(Clone, Copy)]
pub struct PeerAddress(pub IpAddr);

/// Never shows the address.
impl fmt::Debug for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerAddress(***)")
    }
}

/// The address of the client; `None` if nothing that can be trusted names it. It is never logged or stored.
pub(crate) struct ClientAddress(pub(crate) Option<IpAddr>);

impl<S: Sync> FromRequestParts<S> for ClientAddress
where
    Arc<Identity>: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let Identity { origin_key, .. } = &*Arc::<Identity>::from_ref(state);
        origin_key.refresh_if_due();
        let from_distribution = match origin_key.state() {
            OriginKeyState::Unknown if parts.headers.contains_key(ORIGIN_KEY) => return Ok(Self(None)),
            OriginKeyState::NotConfigured | OriginKeyState::Unknown => None,
            OriginKeyState::Known(key) => read_viewer_address(&parts.headers, &key),
        };
        let gateway = parts.extensions.get::<Gateway>();
        let from_gateway = gateway.and_then(|gateway| gateway.client_address);
        let peer = || parts.extensions.get::<PeerAddress>().map(|peer| peer.0);
        Ok(Self(from_distribution.or(from_gateway).or_else(peer)))
    }
}

/// A request that came by a way on which visitors may enter. A process that cannot read the origin key refuses no request.
pub(crate) struct AllowedWay;

impl<S: Sync> FromRequestParts<S> for AllowedWay
where
    Arc<Identity>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Identity {
            config, origin_key, ..
        } = &*Arc::<Identity>::from_ref(state);
        if config.visitors_by == VisitorsBy::Any {
            return Ok(Self);
        }
        origin_key.refresh_if_due();
        match origin_key.state() {
            OriginKeyState::Known(key) if !presents(&parts.headers, &key) => {
                Err(Problem::usual(Code::NotThroughDistribution))
            }
            _ => Ok(Self),
        }
    }
}

fn presents(headers: &HeaderMap, key: &OriginKey) -> bool {
    read_single(headers, &ORIGIN_KEY).is_some_and(|presented| key.is(presented))
}

/// Returns the address that the distribution saw; `None` if the request does not prove that it went through the
/// distribution.
fn read_viewer_address(headers: &HeaderMap, key: &OriginKey) -> Option<IpAddr> {
    if !presents(headers, key) {
        return None;
    }
    // The text is `address:port`, and an IPv6 address has colons and no brackets.
    let text = str::from_utf8(read_single(headers, &VIEWER_ADDRESS)?).ok()?;
    let (address, port) = text.trim().rsplit_once(':')?;
    let _: u16 = port.parse().ok()?;
    address.parse().ok()
}

/// Returns the value of a header that is given exactly once.
fn read_single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value.as_bytes()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const SECRET: &str = "the-secret-of-the-distribution";

    fn read(headers: &[(HeaderName, &'static str)]) -> Option<IpAddr> {
        let headers = headers.iter().cloned();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_static(value));
        }
        read_viewer_address(&map, &OriginKey::new(SECRET).expect("long enough"))
    }

    #[test]
    fn viewer_address_counts_only_with_the_distributions_secret() {
        let with_secret = |address| read(&[(ORIGIN_KEY, SECRET), (VIEWER_ADDRESS, address)]);
        assert_eq!(with_secret("198.51.100.10:46532"), "198.51.100.10".parse().ok());
        assert_eq!(
            with_secret("2001:db8:85a3:8d3:1319:8a2e:370:7348:443"),
            "2001:db8:85a3:8d3:1319:8a2e:370:7348".parse().ok()
        );
        for wrong in [
            "198.51.100.10",
            "",
            ":443",
            "198.51.100.10:",
            "198.51.100.10:70000",
        ] {
            assert_eq!(with_secret(wrong), None, "{wrong}");
        }
        let address = (VIEWER_ADDRESS, "198.51.100.10:46532");
        assert_eq!(read(std::slice::from_ref(&address)), None);
        assert_eq!(
            read(&[(ORIGIN_KEY, "another-secret-of-this-length!"), address.clone()]),
            None
        );
        assert_eq!(read(&[(ORIGIN_KEY, ""), address.clone()]), None);
        assert_eq!(
            read(&[(ORIGIN_KEY, SECRET), (ORIGIN_KEY, SECRET), address.clone()]),
            None
        );
        assert_eq!(read(&[(ORIGIN_KEY, SECRET), address.clone(), address]), None);
    }

    #[test]
    fn short_origin_key_is_refused_and_no_key_is_shown() {
        assert_eq!(OriginKey::new(" 123456789012345 "), Err(15));
        let key = OriginKey::new(SECRET).expect("long enough");
        assert_eq!(format!("{key:?}"), "OriginKey(***)");
    }
}
