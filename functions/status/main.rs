//! The function `status`: answers with the position or state of an entry, and holds polls.

use std::process::ExitCode;

use vestibule_api::{serve::serve, status_routes};
use vestibule_runtime::start::{self, run_function};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run_function(start::connect_api(), |api| serve(status_routes(api))).await
}
