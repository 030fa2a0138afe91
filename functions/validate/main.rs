//! The function `validate`: serves the routes of the protected service.

use vestibule_api::{serve::serve, validate_routes};
use vestibule_runtime::start;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    vestibule_telemetry::init_logging();
    serve(validate_routes(start::connect_api().await?)).await
}
