//! An nginx that a test starts on a free port of the loopback address.

use std::{
    env, fs,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// How long nginx may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Another process may take the port between its choice and the start of nginx.
const ATTEMPTS: usize = 5;

/// A running nginx. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Nginx {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The files of nginx, its configuration and its logs.
    pub(crate) directory: TempDir,
}

impl Nginx {
    /// Starts nginx with the configuration that `configure` returns for a folder and an address. The program is
    /// `VESTIBULE_NGINX`, or `nginx` of the `PATH`; `need_nginx` in `infra/tools.sh` installs it.
    ///
    /// # Panics
    /// Panics if nginx cannot be started or does not listen in time.
    pub(crate) fn start(configure: impl Fn(&Path, SocketAddr) -> String) -> Self {
        (0..ATTEMPTS)
            .find_map(|_| Self::start_on_free_port(&configure))
            .unwrap_or_else(|| {
                panic!("nginx ended {ATTEMPTS} times before it listened; its messages are above")
            })
    }

    fn start_on_free_port(configure: impl Fn(&Path, SocketAddr) -> String) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a folder");
        // The port is free again when the listener is dropped, at the end of this statement.
        let address = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port");
        let configuration = directory.path().join("nginx.conf");
        fs::write(&configuration, configure(directory.path(), address)).expect("a file");
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
        let mut nginx = Self {
            child,
            address,
            directory,
        };
        nginx.wait_until_listening().then_some(nginx)
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

impl Drop for Nginx {
    fn drop(&mut self) {
        // Killing fails if the process has ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
