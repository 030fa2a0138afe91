//! The line in memory is the plain statement of the rules, and the scripts in Redis follow it: whatever is done to both
//! at the same moments, they answer the same and hold the same, after every single step.
//!
//! `PROPTEST_RNG_SEED` and `PROPTEST_CASES` look further than a usual run.

mod checks;
mod journal;
mod ops;
mod pair;

use std::{
    env,
    sync::atomic::{AtomicUsize, Ordering},
};

use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use tokio::runtime::Builder;
use vestibule_line_redis::RedisLine;
use vestibule_tests::lines::{Backend, fresh_queue};

use self::pair::Pair;

const CASES: u32 = 220;
const OPERATIONS_MIN: usize = 20_000;

#[test]
fn redis_does_what_memory_does() {
    compare(Backend::Redis);
}

#[test]
fn valkey_does_what_memory_does() {
    compare(Backend::Valkey);
}

#[test]
fn a_cluster_does_what_memory_does() {
    compare(Backend::Cluster);
}

fn compare(backend: Backend) {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let line = runtime.block_on(RedisLine::connect(&backend.url()));
    let line = line.expect("the server answers");
    let operations = AtomicUsize::new(0);
    let mut runner = TestRunner::new(config());
    let outcome = runner.run(&ops::sequence(), |ops| {
        runtime.block_on(async {
            let queue = fresh_queue();
            let link = backend.connection_to_owner(&queue).await;
            let mut pair = Pair::new(line.clone(), link, queue).await;
            for (step, op) in ops.iter().enumerate() {
                operations.fetch_add(1, Ordering::Relaxed);
                pair.step(op).await.map_err(|difference| {
                    TestCaseError::fail(format!("step {step}, {op:?}: {difference}"))
                })?;
            }
            Ok(())
        })
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, ops)) => {
            let steps: Vec<_> = ops
                .iter()
                .enumerate()
                .map(|(step, op)| format!("{step:>4}  {op:?}"))
                .collect();
            panic!("{reason}\nof the steps\n{}", steps.join("\n"));
        }
        Err(aborted @ TestError::Abort(_)) => panic!("{aborted}"),
    }
    let operations = operations.into_inner();
    println!("{operations} operations on {backend:?}");
    assert!(
        operations >= OPERATIONS_MIN,
        "{operations} operations are too few"
    );
}

/// The same sequences in every run, so that a failure is seen again; the environment may ask for others.
fn config() -> Config {
    let asked = Config::default();
    Config {
        cases: if cases_are_given() { asked.cases } else { CASES },
        rng_seed: match asked.rng_seed {
            RngSeed::Random => RngSeed::Fixed(2_025),
            fixed @ RngSeed::Fixed(_) => fixed,
        },
        failure_persistence: None,
        // Milliseconds: a long search would meet the time limit of the test before it could say what it found.
        max_shrink_time: 20_000,
        ..asked
    }
}

fn cases_are_given() -> bool {
    env::var_os("PROPTEST_CASES").is_some()
}
