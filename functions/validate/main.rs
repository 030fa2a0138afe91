//! The function `validate`: answers the protected service.

use vestibule::{
    http::{
        serve::{edge_from_env, serve},
        validate_routes,
    },
    telemetry,
};

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    serve(validate_routes(edge_from_env().await?)).await
}
