//! The function `enter`: takes places in line, and what visitors do with them.

use vestibule_api::{enter_routes, serve::serve};
use vestibule_runtime::start;

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    vestibule_telemetry::init();
    serve(enter_routes(start::edge().await?)).await
}
