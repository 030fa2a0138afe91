//! The function `enter`: serves the routes by which visitors enter a queue and leave.

use vestibule_api::{enter_routes, serve::serve};
use vestibule_runtime::start;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    vestibule_telemetry::init_logging();
    serve(enter_routes(start::connect_api().await?)).await
}
