//! The function `validate`: serves the routes of the protected service.

use std::process::ExitCode;

use vestibule_api::{serve::serve, validate_routes};
use vestibule_runtime::start::{self, run_function};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run_function(start::connect_api(), |api| serve(validate_routes(api))).await
}
