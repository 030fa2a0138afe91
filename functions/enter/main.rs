//! The function `enter`: serves the routes by which visitors enter a queue and leave.

use std::process::ExitCode;

use vestibule_api::{enter_routes, serve::serve};
use vestibule_runtime::start::{self, run_function};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run_function(start::connect_api(), |api| serve(enter_routes(api))).await
}
