//! The listener and everything behind it, until the end.

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use tokio::{net::TcpListener, time::sleep};
use vestibule_api::{ApiState, router_with};

use crate::stop::Stop;

/// Clients that do not take their last answer are cut off after so long.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Everything that this process answers: the API, the page, and what only its owner may reach.
pub(crate) fn everything(edge: Arc<ApiState>, page: Router, operations: Router) -> Router {
    router_with(edge, page.merge(operations))
}

/// Serves until the end comes and the last answers are given.
pub(crate) async fn serve(listener: TcpListener, router: Router, stop: &Stop) -> io::Result<()> {
    let serving = axum::serve(listener, router).with_graceful_shutdown(stop.wait());
    let cut_off = async {
        stop.wait().await;
        sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        served = serving => served,
        () = cut_off => Ok(()),
    }
}
