//! The function `validate`: serves the routes of the protected service.

use std::process::ExitCode;

use vestibule_api::{serve::serve, validate_routes};
use vestibule_runtime::start::{self, run_function};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run_function(async { serve(validate_routes(start::connect_api().await?)).await }).await
}
