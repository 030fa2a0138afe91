//! The function `document`: serves what any caller may read and cache, and answers preflights.

use std::process::ExitCode;

use vestibule_api::{document_routes, serve::serve};
use vestibule_runtime::start::{self, run_function};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run_function(start::connect_api(), |api| serve(document_routes(api))).await
}
