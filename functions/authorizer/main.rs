//! The function `authorizer`: lets the requests of admitted visitors through to an API that the shop owns.

use std::process::ExitCode;

use vestibule_api::authorizer::{Authorizer, serve};
use vestibule_runtime::{
    config::authorizer_config_from_env,
    start::{self, run_function},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run_function(async {
        let config = authorizer_config_from_env()?;
        serve(Authorizer::new(start::connect_api().await?, config)).await
    })
    .await
}
