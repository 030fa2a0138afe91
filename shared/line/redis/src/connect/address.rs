//! The address of the line, taken apart.

use std::collections::BTreeSet;

use redis::{
    Client, ClientTlsConfig, ProtocolVersion, RedisResult, TlsCertificates, cluster::ClusterClientBuilder,
};

/// What a certificate starts with in a PEM file.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";
/// Where the address names a file of certificates.
const CA_FILE: &str = "ca_file";

/// What is wrong with an address. Shows nothing of it but the name of a file: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No scheme of Redis, or no host.
    #[error("must be redis:// or rediss://, or either with +cluster, and a host")]
    Malformed,
    /// Several servers without `+cluster`.
    #[error("must name one server, or be redis+cluster:// or rediss+cluster://")]
    SeveralServers,
    /// Authorities for a connection without TLS.
    #[error("must be rediss:// or rediss+cluster:// where it has a {CA_FILE}")]
    InTheClear,
    /// The file of authorities cannot be read.
    #[error("has a {CA_FILE} that cannot be read: {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The file of authorities holds none.
    #[error("has a {CA_FILE} without a certificate: {path}")]
    NoCertificate {
        /// The file.
        path: String,
    },
}

/// Where the line is, and whose certificates are trusted there.
pub struct Address {
    /// One server; or nodes of one cluster, any of which tells of the others.
    nodes: Vec<String>,
    pub(super) is_cluster: bool,
    /// The only ones to trust, as PEM; `None` for those that everybody trusts.
    authorities: Option<Vec<u8>>,
}

impl Address {
    /// Takes `redis://[user:password@]host[:port]` apart, or `rediss://…` (TLS); with `+cluster` behind either scheme,
    /// several `host:port` may stand there with commas between. `?ca_file=/path/of.pem` names the authorities to trust
    /// instead of the public ones; the file is read at once.
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let (url, is_cluster) = match url.split_once("+cluster://") {
            Some((scheme, rest)) => (format!("{scheme}://{rest}"), true),
            None => (url.to_owned(), false),
        };
        let nodes = nodes(&url).ok_or(AddressError::Malformed)?;
        if nodes.len() > 1 && !is_cluster {
            return Err(AddressError::SeveralServers);
        }
        let mut ca_file = None;
        for node in &nodes {
            let parsed = redis::parse_redis_url(node).ok_or(AddressError::Malformed)?;
            if Client::open(parsed.clone()).is_err() {
                return Err(AddressError::Malformed);
            }
            let named = parsed.query_pairs().find(|(name, _)| name == CA_FILE);
            ca_file = named.map(|(_, path)| path.into_owned());
        }
        if ca_file.is_some() && !url.starts_with("rediss://") {
            return Err(AddressError::InTheClear);
        }
        Ok(Self {
            nodes,
            is_cluster,
            authorities: ca_file.map(read).transpose()?,
        })
    }

    /// A client of the server.
    pub(super) fn server(&self) -> RedisResult<Client> {
        self.client(&self.nodes[0])
    }

    /// A client of one of the servers (`host:port`) that hears what is published there.
    pub(super) fn subscriber(&self, host: &str) -> RedisResult<Client> {
        // A name that makes no address is refused by the client.
        let url = with_host(&self.nodes[0], host).unwrap_or_default();
        hearing(&self.client(&url)?)
    }

    fn client(&self, url: &str) -> RedisResult<Client> {
        match self.certificates() {
            Some(certificates) => Client::build_with_tls(url, certificates),
            None => Client::open(url),
        }
    }

    /// What a client of the cluster is made with, which may ask these nodes (`host:port`), too.
    pub(super) fn cluster(&self, others: &BTreeSet<String>) -> ClusterClientBuilder {
        let others = others.iter().filter_map(|host| with_host(&self.nodes[0], host));
        let builder = ClusterClientBuilder::new(self.nodes.iter().cloned().chain(others));
        match self.certificates() {
            Some(certificates) => builder.certs(certificates),
            None => builder,
        }
    }

    fn certificates(&self) -> Option<TlsCertificates> {
        let root_cert = Some(self.authorities.clone()?);
        let client_tls: Option<ClientTlsConfig> = None;
        Some(TlsCertificates {
            client_tls,
            root_cert,
        })
    }
}

/// The same client by the protocol that has messages beside answers.
pub(super) fn hearing(client: &Client) -> RedisResult<Client> {
    let info = client.get_connection_info().clone();
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    Client::open(info.set_redis_settings(settings))
}

/// The same address for each of its hosts.
fn nodes(url: &str) -> Option<Vec<String>> {
    let [before, hosts, after] = parts(url)?;
    let nodes = hosts.split(',').map(|host| format!("{before}{host}{after}"));
    Some(nodes.collect())
}

/// The same address for another host.
fn with_host(url: &str, host: &str) -> Option<String> {
    let [before, _, after] = parts(url)?;
    Some(format!("{before}{host}{after}"))
}

/// What stands before the hosts, the hosts, and what stands behind them.
fn parts(url: &str) -> Option<[&str; 3]> {
    let start = url.find("://")? + "://".len();
    let end = url[start..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |end| start + end);
    let hosts = url[start..end].rfind('@').map_or(start, |at| start + at + 1);
    Some([&url[..hosts], &url[hosts..end], &url[end..]])
}

fn read(path: String) -> Result<Vec<u8>, AddressError> {
    match std::fs::read(&path) {
        Ok(pem) if String::from_utf8_lossy(&pem).contains(CERTIFICATE) => Ok(pem),
        Ok(_) => Err(AddressError::NoCertificate { path }),
        Err(error) => Err(AddressError::Unreadable {
            path,
            reason: error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests;
