//! Where the servers are that the suites talk to: `infra/servers.sh` starts them and says so in the environment.

use std::{
    env,
    net::{Ipv4Addr, TcpListener},
    time::Duration,
};

use redis::{AsyncConnectionConfig, aio::MultiplexedConnection};
use reqwest::{Client, ClientBuilder, Url};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};

/// The longest that a server of a test takes for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The address of the DynamoDB emulator.
///
/// # Panics
/// Where there is none: a suite that skips what it cannot test would say that all is well.
pub fn dynamodb_url() -> String {
    url("TEST_DYNAMODB_URL")
}

/// The backup in the DynamoDB emulator, its tables in place.
///
/// # Panics
/// Where there is no emulator, or it does not answer.
pub async fn dynamodb() -> DynamoDbBackup {
    let backup = DynamoDbBackup::connect(Connection {
        endpoint_url: Some(dynamodb_url()),
        tables: TableNames::default(),
    })
    .await;
    // Every test does so, many at once, as several processes of a laptop might.
    backup.create_tables_if_missing().await.expect("tables");
    backup
}

/// The address of a port that nobody listens on.
///
/// # Panics
/// Where the machine has no port left.
pub fn closed_port_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

/// A client of an API at this address. Names under `localhost` are this machine (RFC 6761, section 6.3), which not every
/// resolver knows; emulators tell APIs apart by them.
///
/// # Panics
/// Where the address is none.
pub fn client_of(url: &str) -> ClientBuilder {
    let url: Url = url.parse().expect("an address");
    match url.host_str() {
        // The port is the address's own.
        Some(host) if host.ends_with(".localhost") => {
            Client::builder().resolve(host, (Ipv4Addr::LOCALHOST, 0).into())
        }
        _ => Client::builder(),
    }
}

/// A connection to a Redis.
///
/// # Panics
/// Where it does not answer.
pub async fn link(client: redis::Client) -> MultiplexedConnection {
    // The client's own half a second is for a server that has a processor to itself.
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let link = client.get_multiplexed_async_connection_with_config(&config).await;
    link.expect("the server answers")
}

/// The address of a server, by the variable that names it.
///
/// # Panics
/// Where there is none.
pub fn url(variable: &str) -> String {
    env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run the tests by `make test` or `infra/servers.sh run -- COMMAND`")
    })
}
