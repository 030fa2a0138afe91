//! The function `document`: serves what any caller may read and cache, and answers preflights.

use vestibule_api::{document_routes, serve::serve};
use vestibule_runtime::start;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    vestibule_telemetry::init_logging();
    serve(document_routes(start::connect_api().await?)).await
}
