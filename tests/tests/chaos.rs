//! Runs a few seeds of the chaos suite with each test run. `make chaos` runs any number of seeds. Twenty seeds of a queue that
//! is deleted and created again follow.

use futures_util::future::join_all;
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

/// Runs these seeds side by side. Each has a queue, a Redis and processes of its own, which mostly wait.
async fn check_lives(seeds: std::ops::RangeInclusive<u64>) {
    let outcomes = join_all(seeds.map(|seed| tokio::spawn(chaos::lives::run_seed(seed)))).await;
    let outcomes: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| outcome.expect("a run goes to its end"))
        .inspect(|outcome| println!("{outcome}"))
        .collect();
    assert!(outcomes.iter().all(chaos::lives::LivesOutcome::is_ok));
}

/// A queue is sold out, finished, reported, deleted and created again: no old entry, pass, place or total survives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_a_deletion_in_seeds_1_to_5() {
    check_lives(1..=5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_a_deletion_in_seeds_6_to_10() {
    check_lives(6..=10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_a_deletion_in_seeds_11_to_15() {
    check_lives(11..=15).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_a_deletion_in_seeds_16_to_20() {
    check_lives(16..=20).await;
}
