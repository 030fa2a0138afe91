//! The function `status`: answers with the position or state of an entry, and holds polls.

use vestibule_api::{serve::serve, status_routes};
use vestibule_runtime::start;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    vestibule_telemetry::init_logging();
    serve(status_routes(start::connect_api().await?)).await
}
