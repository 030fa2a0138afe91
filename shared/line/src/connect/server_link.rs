//! One connection to a server, and how it is configured.

use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use super::{iam::IamLogin, timeouts::Timeouts};

/// A connection, and whether its server is known to be demoted. All clones share one socket.
#[derive(Clone)]
pub(super) struct ServerLink {
    pub(super) manager: ConnectionManager,
    /// Counts the links of this process, so that a call sees whether another call replaced its link.
    pub(super) number: u64,
    pub(super) is_demoted: bool,
}

/// How a connection to a server is made: with these timeouts, and with the login if there is one.
pub(super) fn build_manager_config(
    login: Option<&IamLogin>,
    timeouts: &'static Timeouts,
) -> ConnectionManagerConfig {
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(timeouts.connect))
        .set_response_timeout(Some(timeouts.response))
        // The caller has a deadline and retries by itself. More retries here would only hide the outage.
        .set_number_of_retries(1);
    match login {
        Some(login) => config.set_credentials_provider(login.clone()),
        None => config,
    }
}
