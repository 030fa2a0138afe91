//! The function `status`: answers with the position or state of an entry, and holds polls.

use vestibule::{
    http::{serve::serve, status_routes},
    start, telemetry,
};

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    serve(status_routes(start::edge().await?)).await
}
