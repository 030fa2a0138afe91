//! The suites in other languages. Each test runs one script, so the test runner starts them beside the suites that wait,
//! limits their time, and counts them.
//!
//! `infra/test.sh` installs what they need, and names the programs in the environment.

use std::process::Command;

/// Runs a script of `infra` with its arguments, and fails with it. Its output is that of the test.
fn run_script(script: &str, arguments: &[&str]) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let status = Command::new(format!("{root}/infra/{script}"))
        .args(arguments)
        .current_dir(root)
        .status()
        .unwrap_or_else(|error| panic!("infra/{script}: {error}"));
    assert!(status.success(), "infra/{script} {arguments:?}: {status}");
}

/// The client library, the page and the console: unit tests, sizes, and whether what is built is of the sources.
#[test]
fn client_page_and_console_do_what_they_say() {
    run_script("client.sh", &["test"]);
}

/// The waiting page, the client library and the console in Chromium.
#[test]
fn visitors_and_operators_succeed_in_a_browser() {
    run_script("browser.sh", &[]);
}

/// All screens in all languages, long sessions, the second example shop.
#[test]
fn long_sessions_and_all_screens_are_right_in_a_browser() {
    run_script("browser.sh", &["long"]);
}

/// A sale of 2,000 visitors that is operated in the console, and a page beside 500 clients.
#[test]
fn night_of_a_sale_is_operated_in_a_browser() {
    run_script("browser.sh", &["night"]);
}

/// A thousand clients of the library and an outage of a minute.
#[test]
fn crowd_of_clients_gets_its_turns_through_an_outage() {
    run_script("client.sh", &["crowd"]);
}

#[test]
fn reference_page_shows_the_api_in_a_browser() {
    run_script("openapi.sh", &["page"]);
}

/// Two clients that are generated from `docs/openapi.json`, in Python and in TypeScript.
#[test]
fn generated_clients_pass_through_a_queue() {
    run_script("openapi.sh", &["clients"]);
}

/// Classes that are generated for Java and Go, which tell 32 bits from 64.
#[test]
fn generated_types_of_compiled_languages_lose_nothing_of_an_answer() {
    run_script("openapi.sh", &["compiled"]);
}

#[test]
fn generated_requests_get_the_documented_answers() {
    run_script("openapi.sh", &["fuzz"]);
}
