//! The function `authorizer`: lets the requests of admitted visitors through to an API that the shop owns.

use vestibule_api::authorizer::{Authorizer, serve};
use vestibule_runtime::{config::authorizer_config_from_env, start};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    vestibule_telemetry::init_logging();
    let config = authorizer_config_from_env()?;
    serve(Authorizer::new(start::connect_api().await?, config)).await
}
