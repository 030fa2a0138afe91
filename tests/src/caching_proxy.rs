//! nginx in front of an API on this machine, with the cache of `infra/nginx.conf.template`.

use std::{
    env, fs,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::template::read_text;

/// How long nginx may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Another process may take the port between its choice and the start of nginx.
const ATTEMPTS: usize = 5;
/// The connections that nginx has at the same time, to clients and to the origin.
const CONNECTIONS: usize = 1_024;

/// A running nginx. It ends when this is dropped.
#[derive(Debug)]
pub struct CachingProxy {
    child: Child,
    address: SocketAddr,
    /// The cache, the configuration and the log.
    directory: TempDir,
}

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
        (0..ATTEMPTS)
            .find_map(|_| Self::start_on_free_port(origin, connections))
            .unwrap_or_else(|| {
                panic!("nginx ended {ATTEMPTS} times before it listened; its messages are above")
            })
    }

    fn start_on_free_port(origin: SocketAddr, connections: usize) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a folder");
        // The port is free again when the listener is dropped, at the end of this statement.
        let address = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port");
        let configuration = directory.path().join("nginx.conf");
        let text = fill_template(directory.path(), address, origin, connections);
        fs::write(&configuration, text).expect("a file");
        let program = env::var_os("VESTIBULE_NGINX").unwrap_or_else(|| "nginx".into());
        let child = Command::new(&program)
            .arg("-p")
            .arg(directory.path())
            .arg("-c")
            .arg(&configuration)
            // Before it has read its configuration, nginx would write to the log of the system.
            .args(["-e", "stderr"])
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "cannot start {}: {error}; install nginx with need_nginx of infra/tools.sh",
                    program.display()
                )
            });
        let mut proxy = Self {
            child,
            address,
            directory,
        };
        proxy.wait_until_listening().then_some(proxy)
    }

    /// The URL of a path at the proxy.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests that reached the origin and were answered so far.
    ///
    /// # Panics
    /// Panics if the log has another form than `infra/nginx.conf.template` says.
    pub fn origin_requests(&self) -> Vec<OriginRequest> {
        let log = fs::read_to_string(self.directory.path().join("origin.log")).expect("nginx writes a log");
        log.lines().map(parse_origin_request).collect()
    }

    /// Whether nginx listens. `false` if it ended first.
    fn wait_until_listening(&mut self) -> bool {
        let started = Instant::now();
        loop {
            if self
                .child
                .try_wait()
                .expect("a child can be waited for")
                .is_some()
            {
                return false;
            }
            if TcpStream::connect(self.address).is_ok() {
                return true;
            }
            assert!(
                started.elapsed() < START_TIMEOUT,
                "nginx does not listen at {} after {START_TIMEOUT:?}",
                self.address
            );
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for CachingProxy {
    fn drop(&mut self) {
        // Killing fails if the process has ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
