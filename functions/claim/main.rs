//! The function `claim`: serves the routes by which visitors claim their turn and extend their sessions.

use std::process::ExitCode;

use vestibule_api::{claim_routes, serve::serve};
use vestibule_runtime::start::{self, run_function};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run_function(start::connect_api(), |api| serve(claim_routes(api))).await
}
