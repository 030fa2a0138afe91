//! The HTTP server of the process.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{ConnectInfo, Request},
    middleware::map_request,
};
use tokio::{net::TcpListener, time::sleep};
use vestibule_api::{PeerAddress, Services, router_with};

use crate::{host::refuse_foreign_host, stop::Stop};

/// After the stop signal, clients have this long to receive their last answers.
const LAST_ANSWERS_MAX: Duration = Duration::from_secs(5);

/// All routes of the process: the API, the page, and the routes for the user of this machine with the console. None answers a request that
/// names a foreign host.
pub(crate) fn all_routes(
    api: Services,
    page: Router,
    operations: Router,
    further_hosts: Vec<String>,
) -> Router {
    let further_hosts: Arc<[String]> = further_hosts.into();
    router_with(api, page.merge(operations), move |headers| {
        refuse_foreign_host(headers, &further_hosts)
    })
}

async fn add_peer_address(ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request) -> Request {
    request.extensions_mut().insert(PeerAddress(peer.ip()));
    request
}

/// Serves requests until the process stops and the last answers are sent.
pub(crate) async fn serve(listener: TcpListener, router: Router, stop: &Stop) -> io::Result<()> {
    // The routes learn the address of a client from its connection.
    let service = router
        .layer(map_request(add_peer_address))
        .into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, service).with_graceful_shutdown(stop.wait());
    let cut_off = async {
        stop.wait().await;
        sleep(LAST_ANSWERS_MAX).await;
    };
    tokio::select! {
        served = serving => served,
        () = cut_off => Ok(()),
    }
}
