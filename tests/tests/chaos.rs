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

/// Redis is killed twice; the table is slow, and then throttles.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_table_costs_nobody_a_place() {
    holds(16).await;
}

/// Redis is killed; the table throttles and is cut off; functions are killed on their way to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_function_costs_nobody_a_place() {
    holds(28).await;
}
