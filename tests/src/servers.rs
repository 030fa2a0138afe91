//! The addresses of the servers that the suites use. `infra/servers.sh` starts the servers and sets the
//! environment variables that name them.

use std::{
    env,
    net::{Ipv4Addr, TcpListener},
    time::Duration,
};

use redis::{AsyncConnectionConfig, aio::MultiplexedConnection};
use reqwest::{Client, ClientBuilder, Url};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};

/// The longest time that a server of a test takes for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The address of the DynamoDB emulator.
///
/// # Panics
/// If the variable is not set. A suite that skipped tests without a server would report success for what it did
/// not test.
pub fn dynamodb_url() -> String {
    server_url("TEST_DYNAMODB_URL")
}

/// The backup in the DynamoDB emulator. Its tables exist.
///
/// # Panics
/// If the emulator is missing or does not answer.
pub async fn dynamodb_backup() -> DynamoDbBackup {
    let backup = DynamoDbBackup::connect(Connection {
        endpoint_url: Some(dynamodb_url()),
        tables: TableNames::default(),
    })
    .await;
    // Many tests do this at the same time, as several processes on a laptop may.
    backup.create_tables_if_missing().await.expect("tables");
    backup
}

/// The address of a port that no process listens on.
///
/// # Panics
/// If the machine has no free port.
pub fn closed_port_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

/// A client of the API at this address. Names under `localhost` are this machine (RFC 6761, section 6.3), but
/// not every resolver knows that. Emulators tell APIs apart by such names.
///
/// # Panics
/// If the address is not a URL.
pub fn client_for_url(url: &str) -> ClientBuilder {
    let url: Url = url.parse().expect("an address");
    match url.host_str() {
        // With port 0 the client uses the port of the URL.
        Some(host) if host.ends_with(".localhost") => {
            Client::builder().resolve(host, (Ipv4Addr::LOCALHOST, 0).into())
        }
        _ => Client::builder(),
    }
}

/// A connection to a Redis server, with a longer timeout than Vestibule's own.
///
/// # Panics
/// If the server does not answer.
pub async fn connect_redis(client: redis::Client) -> MultiplexedConnection {
    // The client's default of half a second suits a server that has a processor to itself.
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let link = client.get_multiplexed_async_connection_with_config(&config).await;
    link.expect("the server answers")
}

/// The address of a server, from the environment variable that names it.
///
/// # Panics
/// If the variable is not set.
pub fn server_url(variable: &str) -> String {
    env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run the tests by `make test` or `infra/servers.sh run -- COMMAND`")
    })
}
