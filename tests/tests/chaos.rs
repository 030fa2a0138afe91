//! Runs a few seeds of the chaos suite with each test run. `make chaos` runs any number of seeds.

use vestibule_tests::chaos;

async fn check_seed(seed: u64) {
    let outcome = chaos::run_seed(seed).await;
    println!("{outcome}");
    assert!(outcome.is_ok(), "{}", outcome.format_evidence());
}

/// Redis is killed while the table is slow and throttles, and functions are killed before they write to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_redis_costs_no_visitor_a_place() {
    check_seed(7).await;
}

/// Redis restarts at once, with data that is five seconds old.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_redis_costs_no_visitor_a_place() {
    check_seed(3).await;
}

/// Two replicas are promoted, one after the other. Each lacks the last changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoted_stale_replicas_cost_no_visitor_a_place() {
    check_seed(21).await;
}
