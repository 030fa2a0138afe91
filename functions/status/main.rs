//! The function `status`: says where an entry stands, and holds polls.

use vestibule::{
    http::{
        serve::{edge_from_env, serve},
        status_routes,
    },
    telemetry,
};

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    serve(status_routes(edge_from_env().await?)).await
}
