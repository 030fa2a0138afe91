//! The function `status`: says where an entry stands, and holds polls.

use vestibule_api::{serve::serve, status_routes};
use vestibule_runtime::start;

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    vestibule_telemetry::init();
    serve(status_routes(start::edge().await?)).await
}
