//! What the answers say of coming back, so that a crowd does not come back as a herd: in a full queue that no visitor has
//! left yet, and in an outage.

use std::collections::BTreeSet;

use serde_json::json;
use vestibule_domain::entry_status::EntryStatus;
use vestibule_faults::Fault;
use vestibule_line::{Arrival, EnterOutcome};
use vestibule_tests::{
    in_process::{ApiRequest, ApiResponse, InProcessApi, QUEUE, entry_path, id_key, queue_id},
    lines::visitor,
};

use super::{enter_and_expect_created, new_visitor_id};

super::cases![
    a_full_queue_polls_less_than_fixed_clients,
    refused_clients_of_a_long_line_come_back_spread,
    refused_clients_of_a_short_line_come_back_soon,
    a_process_that_never_saw_the_line_keeps_to_claim_seconds,
];

const CAPACITY: u64 = 500;
const WAITING: u64 = 3_000;
/// The time between two polls of a client that ignores `retry_after_ms`, in seconds.
const FIXED_POLL_SECONDS: f64 = 3.0;

/// A queue whose slots have just been taken, with a line. Its pace would fill it within a second.
async fn start_with_a_long_line() -> InProcessApi {
    let api = InProcessApi::start(json!({
        "capacity": CAPACITY, "batch": CAPACITY, "interval_seconds": 1, "session_seconds": 300, "claim_seconds": 60,
    }))
    .await;
    for number in 1..=CAPACITY + WAITING {
        let entered = api
            .line
            .enter(&queue_id(), visitor(number), Arrival::Ordinary)
            .await;
        let EnterOutcome::Joined { status, .. } = entered.expect("entered") else {
            panic!("visitor {number} is not in line");
        };
        assert_eq!(matches!(status, EntryStatus::Active { .. }), number <= CAPACITY);
    }
    api.promote().await;
    api
}

async fn a_full_queue_polls_less_than_fixed_clients() {
    let api = start_with_a_long_line().await;
    let mut polls_per_second = 0.0;
    for number in CAPACITY + 1..=CAPACITY + WAITING {
        let id = visitor(number);
        let status = ApiRequest::get(entry_path(&id.to_string()));
        let response = api
            .send(status.visitor(id_key().visitor_secret(id).reveal()))
            .await;
        let position = response.expect_status(200).number("position");
        assert_eq!(position, number - CAPACITY);
        #[allow(clippy::cast_precision_loss)]
        let seconds = response.number("retry_after_ms") as f64 / 1_000.0;
        polls_per_second += 1.0 / seconds;
        // The last visitor waits for six sessions at most, and for six ticks at least.
        let range = &response.body["estimated_wait_seconds"];
        let (low, high) = (range["low"].as_u64(), range["high"].as_u64());
        let (low, high) = low
            .zip(high)
            .unwrap_or_else(|| panic!("an estimate from the first second: {response:?}"));
        assert!(low <= position / CAPACITY, "{response:?}");
        assert!(high * CAPACITY >= 290 * position, "{response:?}");
    }
    #[allow(clippy::cast_precision_loss)]
    let fixed = WAITING as f64 / FIXED_POLL_SECONDS;
    println!("{polls_per_second:.0} polls per second, {fixed:.0} of fixed clients");
    assert!(
        polls_per_second <= fixed,
        "{polls_per_second} polls per second instead of {fixed}"
    );
}

async fn refused_clients_of_a_long_line_come_back_spread() {
    let api = start_with_a_long_line().await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let unknown = || ApiRequest::get(entry_path("1777853d-5d52-8cab-a8ce-928d525f6d31"));
    api.send(guest.status()).await.expect_status(200);
    api.faults.fail_all(Fault::Unavailable);
    for request in [|| ApiRequest::enter().visitor(&new_visitor_id()), unknown] {
        // Most visitors of this line poll after 34 to 40 s.
        let told = draw_retry_after(&api, request).await;
        assert!(told.iter().all(|seconds| (21..=28).contains(seconds)), "{told:?}");
        assert!(told.len() >= 5, "clients come back in the same seconds: {told:?}");
    }
    // Few visitors claim at the same time, and their turn does not wait.
    let told = draw_retry_after(&api, || guest.claim()).await;
    assert!(told.iter().all(|seconds| (2..=4).contains(seconds)), "{told:?}");
}

async fn refused_clients_of_a_short_line_come_back_soon() {
    let api = InProcessApi::start(json!({ "capacity": 1, "batch": 1, "session_seconds": 5 })).await;
    for _ in 0..2 {
        enter_and_expect_created(&api).await;
    }
    api.send(ApiRequest::get(format!("/queues/{QUEUE}"))).await;
    api.faults.fail_all(Fault::Unavailable);
    let told = draw_retry_after(&api, || ApiRequest::enter().visitor(&new_visitor_id())).await;
    assert!(told.iter().all(|seconds| (2..=4).contains(seconds)), "{told:?}");
    assert!(told.len() >= 2, "{told:?}");
}

/// Its clients add up to a fifth of `claim_seconds`, and must be back by two thirds of it.
async fn a_process_that_never_saw_the_line_keeps_to_claim_seconds() {
    let api = InProcessApi::start(json!({ "claim_seconds": 10 })).await;
    api.faults.fail_all(Fault::Unavailable);
    let told = draw_retry_after(&api, || ApiRequest::enter().visitor(&new_visitor_id())).await;
    assert!(told.iter().all(|seconds| (2..=4).contains(seconds)), "{told:?}");
}

/// The different values of `Retry-After` in many refusals, in seconds.
async fn draw_retry_after(api: &InProcessApi, request: impl Fn() -> ApiRequest) -> BTreeSet<u64> {
    let mut told = BTreeSet::new();
    for _ in 0..100 {
        let response: ApiResponse = api.send(request()).await;
        let header = response
            .expect_problem(503, "line-unavailable")
            .header("retry-after");
        told.insert(header.parse().expect("whole seconds"));
    }
    told
}
