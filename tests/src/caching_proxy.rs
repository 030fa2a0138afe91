//! nginx in front of an API on this machine, with the cache of `infra/nginx.conf.template`.

use std::{fs, net::SocketAddr, path::Path};

use crate::{nginx::Nginx, template::read_text};

/// The connections that nginx has at the same time, to clients and to the origin.
const CONNECTIONS: usize = 1_024;

/// A running nginx. It ends when this is dropped.
#[derive(Debug)]
pub struct CachingProxy(Nginx);

/// A request that nginx passed on to the origin, because the cache did not answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginRequest {
    /// When it was answered, in whole Unix seconds.
    pub at_s: u64,
    /// The method, such as `GET`.
    pub method: String,
    /// The path without the query string.
    pub path: String,
}

impl CachingProxy {
    /// Starts nginx on a free port of the loopback address, in front of `origin`. The program is
    /// `VESTIBULE_NGINX`, or `nginx` of the `PATH`; `need_nginx` in `infra/tools.sh` installs it.
    ///
    /// # Panics
    /// Panics if nginx cannot be started or does not listen in time.
    pub fn start(origin: SocketAddr) -> Self {
        Self::start_with_connections(origin, CONNECTIONS)
    }

    /// Starts nginx with this many connections. Each held poll has two. The process must be allowed to open as many
    /// files.
    ///
    /// # Panics
    /// As [`CachingProxy::start`].
    pub fn start_with_connections(origin: SocketAddr, connections: usize) -> Self {
        Self(Nginx::start(|directory, address| {
            fill_template(directory, address, origin, connections)
        }))
    }

    /// The URL of a path at the proxy.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0.address)
    }

    /// The requests that reached the origin and were answered so far.
    ///
    /// # Panics
    /// Panics if the log has another form than `infra/nginx.conf.template` says.
    pub fn origin_requests(&self) -> Vec<OriginRequest> {
        let log = fs::read_to_string(self.0.directory.path().join("origin.log")).expect("nginx writes a log");
        log.lines().map(parse_origin_request).collect()
    }
}

/// Parses `SECONDS.MILLISECONDS METHOD PATH`.
fn parse_origin_request(line: &str) -> OriginRequest {
    let mut words = line.split(' ');
    let mut next = || words.next().unwrap_or_else(|| panic!("not a request: {line}"));
    let (at, method, path) = (next(), next(), next());
    let (at_s, _) = at.split_once('.').unwrap_or((at, ""));
    OriginRequest {
        at_s: at_s.parse().unwrap_or_else(|_| panic!("not a time: {line}")),
        method: method.to_owned(),
        path: path.to_owned(),
    }
}

fn fill_template(directory: &Path, address: SocketAddr, origin: SocketAddr, connections: usize) -> String {
    read_text("infra/nginx.conf.template")
        .replace("@DIRECTORY@", &directory.display().to_string())
        .replace("@PORT@", &address.port().to_string())
        .replace("@ORIGIN@", &origin.to_string())
        .replace("@CONNECTIONS@", &connections.to_string())
}
