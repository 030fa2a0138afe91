//! The cases that need control of the process: its clock, faults, the line, the backup, or events of API Gateway.

mod any_origin;
mod attack;
mod authorizer;
mod backup_unavailable;
mod closed_pages;
mod deleted_queue;
mod early_claims;
mod endings;
mod fallback_ticks;
mod far_visitors;
mod full_queue;
mod grace;
mod hold_budget;
mod hold_wakeups;
mod http_api_events;
mod identity_missing;
mod invented_names;
mod killed_process;
mod line_unavailable;
mod modes;
mod no_herd;
mod opening;
mod pass_holders;
mod passes;
mod passes_without_line;
mod recorded_answers;
mod request_costs;
mod rest_events;
mod retry_times;
mod rewritten_requests;
mod rights;
mod root_key;
mod rotation;
mod sample_events;
mod service_callers;
mod sources;
mod standstill;
mod strangers;
mod tickets;
mod trusted_identity;
mod visitors;

use std::future::Future;

use libtest_mimic::Trial;
use serde_json::Value;
use tokio::runtime::Builder;
use vestibule_tests::{
    api::{Guest, new_visitor_id},
    in_process::{ApiRequest, ApiResponse, InProcessApi, queue_id},
};

/// Lists the cases of a module.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(crate) fn trials() -> Vec<libtest_mimic::Trial> {
            vec![$(crate::in_process::trial(
                concat!(module_path!(), "::", stringify!($name)),
                || crate::in_process::run($name()),
            )),+]
        }
    };
}
use cases;

pub(crate) fn trials() -> Vec<Trial> {
    [
        any_origin::trials(),
        attack::trials(),
        authorizer::trials(),
        backup_unavailable::trials(),
        closed_pages::trials(),
        deleted_queue::trials(),
        early_claims::trials(),
        endings::trials(),
        fallback_ticks::trials(),
        far_visitors::trials(),
        full_queue::trials(),
        grace::trials(),
        hold_budget::trials(),
        hold_wakeups::trials(),
        http_api_events::trials(),
        identity_missing::trials(),
        invented_names::trials(),
        killed_process::trials(),
        standstill::trials(),
        line_unavailable::trials(),
        modes::trials(),
        no_herd::trials(),
        opening::trials(),
        pass_holders::trials(),
        passes::trials(),
        passes_without_line::trials(),
        recorded_answers::trials(),
        rest_events::trials(),
        request_costs::trials(),
        retry_times::trials(),
        rewritten_requests::trials(),
        rights::trials(),
        root_key::trials(),
        rotation::trials(),
        sample_events::trials(),
        service_callers::trials(),
        sources::trials(),
        strangers::trials(),
        tickets::trials(),
        trusted_identity::trials(),
        visitors::trials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn trial(name: &str, run: fn()) -> Trial {
    Trial::test(name.trim_start_matches("http::"), move || {
        run();
        Ok(())
    })
}

/// Runs a case on one thread, so that it may pause the time of the runtime.
fn run(case: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(case);
}

/// Enters as a new visitor who never polls.
async fn enter_silently(api: &InProcessApi) -> (Guest, ApiResponse) {
    let id = new_visitor_id();
    let response = api.send(ApiRequest::enter().visitor(&id)).await;
    let guest = Guest::from_response(id, response.expect_status(201));
    (guest, response)
}

/// Enters as a new visitor, and checks in as the client's first poll does.
async fn enter_and_expect_created(api: &InProcessApi) -> (Guest, ApiResponse) {
    let (guest, response) = enter_silently(api).await;
    let entry = guest.token.parse().expect("a token");
    api.line.check_in(&queue_id(), entry).await.ok();
    (guest, response)
}

/// Starts with a queue of capacity 1 whose only place, and with it the only token of the bucket, is taken.
async fn start_full_queue(mut settings: Value) -> InProcessApi {
    settings["capacity"] = 1.into();
    settings["batch"] = 1.into();
    let api = InProcessApi::start(settings).await;
    let (_, first) = enter_and_expect_created(&api).await;
    assert_eq!(first.text("state"), "active");
    api
}
