//! The function `enter`: takes places in line, and what visitors do with them.

use vestibule::{
    http::{enter_routes, serve::serve},
    start, telemetry,
};

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    serve(enter_routes(start::edge().await?)).await
}
