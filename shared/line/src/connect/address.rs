//! Parses the address of the line.

use std::collections::BTreeSet;

use redis::{
    Client, ClientTlsConfig, ProtocolVersion, RedisResult, TlsCertificates, cluster::ClusterClientBuilder,
};

/// The first line of a certificate in a PEM file.
const CERTIFICATE_HEADER: &str = "-----BEGIN CERTIFICATE-----";
/// The query parameter that names a file of certificate authorities.
const CA_FILE: &str = "ca_file";

/// Why an address is refused. Each text continues a sentence that begins with the name of the
/// setting. Of the address it shows at most the path of the file, because the address may hold a
/// password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The address has no scheme that Redis uses, or no host.
    #[error("must be redis://host, rediss://host (TLS), redis+cluster://host or rediss+cluster://host")]
    Malformed,
    /// The address names several servers without `+cluster`.
    #[error("must name one server; only redis+cluster:// and rediss+cluster:// may name several nodes")]
    MultipleServers,
    /// The address names certificate authorities, but no TLS.
    #[error("must be rediss:// or rediss+cluster:// (TLS) if it has a {CA_FILE}")]
    CaFileWithoutTls,
    /// The file of certificate authorities cannot be read.
    #[error("has a {CA_FILE} that this process cannot read: {path}: {reason}")]
    CaFileUnreadable {
        /// The path of the file.
        path: String,
        /// The error of the operating system or of the parser.
        reason: String,
    },
    /// The file of certificate authorities contains no certificate.
    #[error("has a {CA_FILE} that contains no PEM certificate: {path}")]
    CaFileWithoutCertificate {
        /// The path of the file.
        path: String,
    },
}

/// The servers of the line, and the certificate authorities that the client trusts.
pub struct Address {
    /// The URL of one server, or of some nodes of one cluster. Any node of a cluster names the others.
    nodes: Vec<String>,
    pub(super) is_cluster: bool,
    /// The only certificate authorities to trust, as PEM. `None` means the public ones.
    authorities: Option<Vec<u8>>,
}

impl Address {
    /// Parses `redis://[user:password@]host[:port]`, or the same with `rediss://` (TLS). With
    /// `+cluster` behind either scheme, the address may name several `host:port`, separated by
    /// commas. `?ca_file=/path/of.pem` names the certificate authorities to trust instead of the
    /// public ones. The file is read at once.
    ///
    /// # Errors
    /// [`AddressError`] if the address is malformed, or if its `ca_file` cannot be used.
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let (url, is_cluster) = match url.split_once("+cluster://") {
            Some((scheme, rest)) => (format!("{scheme}://{rest}"), true),
            None => (url.to_owned(), false),
        };
        let nodes = split_nodes(&url).ok_or(AddressError::Malformed)?;
        if nodes.len() > 1 && !is_cluster {
            return Err(AddressError::MultipleServers);
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
            return Err(AddressError::CaFileWithoutTls);
        }
        Ok(Self {
            nodes,
            is_cluster,
            authorities: ca_file.map(read_authorities).transpose()?,
        })
    }

    /// Makes a client of the one server.
    pub(super) fn server_client(&self) -> RedisResult<Client> {
        self.open_client(&self.nodes[0])
    }

    /// Makes a client of one server (`host:port`) that can receive published messages.
    pub(super) fn subscriber_client(&self, host: &str) -> RedisResult<Client> {
        // The client refuses the empty URL of a host that makes no valid address.
        let url = with_host(&self.nodes[0], host).unwrap_or_default();
        with_resp3(&self.open_client(&url)?)
    }

    fn open_client(&self, url: &str) -> RedisResult<Client> {
        match self.tls_certificates() {
            Some(certificates) => Client::build_with_tls(url, certificates),
            None => Client::open(url),
        }
    }

    /// Makes the builder of a cluster client. The client may also ask the nodes `others`
    /// (`host:port`) for the layout of the cluster.
    pub(super) fn cluster_client_builder(&self, others: &BTreeSet<String>) -> ClusterClientBuilder {
        let others = others.iter().filter_map(|host| with_host(&self.nodes[0], host));
        let builder = ClusterClientBuilder::new(self.nodes.iter().cloned().chain(others));
        match self.tls_certificates() {
            Some(certificates) => builder.certs(certificates),
            None => builder,
        }
    }

    fn tls_certificates(&self) -> Option<TlsCertificates> {
        let root_cert = Some(self.authorities.clone()?);
        let client_tls: Option<ClientTlsConfig> = None;
        Some(TlsCertificates {
            client_tls,
            root_cert,
        })
    }
}

/// Makes a client for the same server that speaks RESP3, the protocol version that delivers
/// messages beside replies.
pub(super) fn with_resp3(client: &Client) -> RedisResult<Client> {
    let info = client.get_connection_info().clone();
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    Client::open(info.set_redis_settings(settings))
}

/// Splits an address of several hosts into one address for each host.
fn split_nodes(url: &str) -> Option<Vec<String>> {
    let [before, hosts, after] = split_at_hosts(url)?;
    let nodes = hosts.split(',').map(|host| format!("{before}{host}{after}"));
    Some(nodes.collect())
}

/// Replaces the hosts of an address by one host.
fn with_host(url: &str, host: &str) -> Option<String> {
    let [before, _, after] = split_at_hosts(url)?;
    Some(format!("{before}{host}{after}"))
}

/// Splits an address into the part before the hosts, the hosts, and the part behind them.
fn split_at_hosts(url: &str) -> Option<[&str; 3]> {
    let start = url.find("://")? + "://".len();
    let end = url[start..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |end| start + end);
    let hosts = url[start..end].rfind('@').map_or(start, |at| start + at + 1);
    Some([&url[..hosts], &url[hosts..end], &url[end..]])
}

fn read_authorities(path: String) -> Result<Vec<u8>, AddressError> {
    match std::fs::read(&path) {
        Ok(pem) if String::from_utf8_lossy(&pem).contains(CERTIFICATE_HEADER) => Ok(pem),
        Ok(_) => Err(AddressError::CaFileWithoutCertificate { path }),
        Err(error) => Err(AddressError::CaFileUnreadable {
            path,
            reason: error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests;
