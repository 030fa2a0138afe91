//! The function `claim`: serves the routes by which visitors claim their turn and extend their sessions.

use std::process::ExitCode;

use vestibule_api::{claim_routes, serve::serve};
use vestibule_runtime::start::{self, run_function};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run_function(async { serve(claim_routes(start::connect_api().await?)).await }).await
}
