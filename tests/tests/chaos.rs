//! A few seeds of the chaos suite, for every day. `make chaos` runs as many as are wanted.

use vestibule_tests::chaos;

async fn holds(seed: u64) {
    let outcome = chaos::run(seed).await;
    println!("{outcome}");
    assert!(outcome.is_ok(), "{}", outcome.evidence());
}

/// Redis is killed, while the table is slow and throttles and functions are killed on their way to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_redis_costs_nobody_a_place() {
    holds(7).await;
}

/// Redis comes back as it was five seconds before, within a moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_redis_costs_nobody_a_place() {
    holds(3).await;
}

/// Two replicas take over, one after the other, which had missed the last changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_lagged_cost_nobody_a_place() {
    holds(21).await;
}
