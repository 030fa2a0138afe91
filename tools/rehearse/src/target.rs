//! Which servers a rehearsal may send its load to: this machine, and hosts that the operator names twice.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use url::{Host, Url};
use vestibule_crowd::http::{Addresses, Resolver, resolver};

/// An address that a rehearsal must not use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetError {
    #[error("{0} is not an address: give one such as http://127.0.0.1:8080")]
    NotAnAddress(String),
    #[error(
        "a rehearsal is load, and {0} is not this machine. If the deployment there is yours, name its host again: \
         --allow-remote {0}"
    )]
    Remote(String),
}

/// The hosts to which a rehearsal may send requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowedHosts(pub(crate) Vec<String>);

impl AllowedHosts {
    /// Parses an address, and refuses it if its host is not allowed. The result has no slash at the end.
    pub(crate) fn parse(&self, text: &str) -> Result<String, TargetError> {
        let not_an_address = || TargetError::NotAnAddress(text.to_owned());
        let url = Url::parse(text).map_err(|_| not_an_address())?;
        let host = url.host().ok_or_else(not_an_address)?;
        if !matches!(url.scheme(), "http" | "https") || url.query().is_some() || url.fragment().is_some() {
            return Err(not_an_address());
        }
        if is_loopback(&host) || self.contains(&host.to_string()) {
            Ok(url.as_str().trim_end_matches('/').to_owned())
        } else {
            Err(TargetError::Remote(host.to_string()))
        }
    }

    /// Whether the operator named this host.
    fn contains(&self, host: &str) -> bool {
        self.0.iter().any(|allowed| allowed.eq_ignore_ascii_case(host))
    }

    /// Finds the addresses to which a request may go.
    pub(crate) fn resolver(self) -> Resolver {
        resolver(move |name| self.clone().resolve(name))
    }

    /// The addresses of a host name to which a request may go. Names of this machine are not asked from DNS, and a name
    /// that was not allowed must not lead away from it.
    async fn resolve(self, name: String) -> io::Result<Addresses> {
        let found: Vec<_> = if name.to_ascii_lowercase().ends_with(".localhost") {
            vec![SocketAddr::from(([127, 0, 0, 1], 0))]
        } else {
            tokio::net::lookup_host((name.as_str(), 0)).await?.collect()
        };
        let is_allowed = |address: &SocketAddr| self.contains(&name) || address.ip().is_loopback();
        Ok(found
            .into_iter()
            .filter(is_allowed)
            .collect::<Vec<_>>()
            .into_iter())
    }
}

/// Whether a host is this machine.
fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => IpAddr::from(*address).is_loopback(),
        Host::Ipv6(address) => IpAddr::from(*address).is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_allowed_by_any_of_its_names() {
        for url in [
            "http://127.0.0.1:8080",
            "http://localhost:8080/",
            "http://[::1]:8080",
            "http://abc.execute-api.localhost:4566/v1",
        ] {
            let parsed = AllowedHosts::default().parse(url);
            assert_eq!(parsed.as_deref(), Ok(url.trim_end_matches('/')));
        }
    }

    #[test]
    fn another_host_must_be_named_again() {
        let url = "https://api.shop.example/v1";
        let refused = AllowedHosts::default().parse(url);
        assert_eq!(refused, Err(TargetError::Remote("api.shop.example".to_owned())));
        let allowed = AllowedHosts(vec!["api.shop.example".to_owned()]);
        assert_eq!(allowed.parse(url).as_deref(), Ok(url));
        for other in [
            "https://shop.example",
            "http://127.0.0.1.example",
            "http://10.0.0.1",
            "http://0.0.0.0",
        ] {
            assert!(
                matches!(allowed.parse(other), Err(TargetError::Remote(_))),
                "{other}"
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "shop",
            "127.0.0.1:8080",
            "ftp://localhost",
            "http://localhost/?queue=a",
        ] {
            assert!(
                matches!(
                    AllowedHosts::default().parse(text),
                    Err(TargetError::NotAnAddress(_))
                ),
                "{text}"
            );
        }
    }
}
