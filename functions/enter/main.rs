//! The function `enter`: serves the routes by which visitors enter a queue, claim their turn and leave.

use vestibule::{
    http::{enter_routes, serve::serve},
    start, telemetry,
};

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    serve(enter_routes(start::edge().await?)).await
}
