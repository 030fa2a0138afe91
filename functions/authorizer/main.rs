//! The function `authorizer`: lets the requests of admitted visitors through to an API that the shop owns.

// The future of its server is nested deeper than the compiler allows by default.
#![recursion_limit = "256"]

use std::process::ExitCode;

use vestibule_api::authorizer::{Authorizer, serve};
use vestibule_runtime::start::{self, run_function};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let start = start::connect_authorizer();
    run_function(start, |(api, config)| serve(Authorizer::new(api, config))).await
}
