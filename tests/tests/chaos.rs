//! A few seeds of the chaos suite, for every day. `make chaos` runs as many as are wanted.

use vestibule_tests::chaos;

async fn holds(seed: u64) {
    let outcome = chaos::run(seed).await;
    println!("{outcome}");
    assert!(outcome.is_ok(), "{}", outcome.evidence());
}

/// Redis is killed and comes back empty.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_redis_costs_nobody_a_place() {
    holds(1).await;
}
