//! The function `claim`: serves the routes by which visitors claim their turn and extend their sessions.

use vestibule_api::{claim_routes, serve::serve};
use vestibule_runtime::start;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    vestibule_telemetry::init_logging();
    serve(claim_routes(start::connect_api().await?)).await
}
