//! The function `validate`: serves the routes of the protected service.

use vestibule::{
    http::{serve::serve, validate_routes},
    start, telemetry,
};

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    serve(validate_routes(start::edge().await?)).await
}
