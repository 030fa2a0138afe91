//! Which host a request to the runner may name.

use axum::http::HeaderMap;
use vestibule_api::{Code, Problem};
use vestibule_console::host::names_this_machine;

/// Refuses a request that names neither this machine nor one of the further hosts.
pub(crate) fn refuse_foreign_host(headers: &HeaderMap, further_hosts: &[String]) -> Result<(), Problem> {
    if names_this_machine(headers, further_hosts) {
        return Ok(());
    }
    let detail = "send the request to localhost, a name that ends with .localhost, 127.0.0.1 or [::1]; the option --hosts \
                  allows further names";
    Err(Problem::new(Code::ForeignHost, detail))
}
