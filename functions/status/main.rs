//! The function `status`: says where an entry stands, and holds polls.

use vestibule::{
    http::{serve::serve, status_routes},
    start, telemetry,
};

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    serve(status_routes(start::edge().await?)).await
}
