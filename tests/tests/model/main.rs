//! The in-memory line states the rules in plain code, and the Redis scripts follow it. This suite runs the same
//! operations on both at the same times and compares the answers and the state after each step. It runs them on the
//! embedded server as well, and asks Redis, Valkey and a cluster each call of it once more.
//!
//! `PROPTEST_RNG_SEED` and `PROPTEST_CASES` select other sequences than a usual run.

mod adopt_operations;
mod check_operations;
mod clock_readings;
mod commands;
mod journal_operations;
mod line_pair;
mod operations;
mod replay;
mod settings_operations;
mod silent_visitors;

use std::{
    env,
    sync::atomic::{AtomicUsize, Ordering},
};

use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use tokio::runtime::Builder;
use vestibule_tests::lines::{Backend, fresh_queue};

use self::{line_pair::LinePair, replay::Replayed};

const CASES: u32 = 220;
const OPERATIONS_MIN: usize = 20_000;

#[test]
fn redis_and_memory_answer_alike() {
    run_sequences(Backend::Redis, None);
}

#[test]
fn embedded_and_redis_answer_alike() {
    replay_on(Backend::Redis);
}

#[test]
fn embedded_and_valkey_answer_alike() {
    replay_on(Backend::Valkey);
}

#[test]
fn embedded_and_a_cluster_answer_alike() {
    replay_on(Backend::Cluster);
}

/// Runs the sequences on the embedded server, and asks another one the same.
fn replay_on(server: Backend) {
    let replayed = Replayed::default();
    run_sequences(Backend::Embedded, Some((server, &replayed)));
    println!("{replayed}");
}

/// Runs random sequences on a line and on the line in memory, and replays what the embedded server answered on another one.
fn run_sequences(backend: Backend, replay: Option<(Backend, &Replayed)>) {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the runtime starts");
    let line = runtime.block_on(backend.connect_to_server());
    let operations = AtomicUsize::new(0);
    let mut runner = TestRunner::new(proptest_config());
    let outcome = runner.run(&operations::sequence(), |ops| {
        runtime.block_on(async {
            let queue = fresh_queue();
            let link = backend.raw_link(&queue).await;
            if let Some((server, replayed)) = replay {
                replayed.begin(server, &queue).await;
            }
            let mut pair = LinePair::new(line.clone(), link, queue.clone()).await;
            pair.compares_states = replay.is_none();
            for (step, op) in ops.iter().enumerate() {
                operations.fetch_add(1, Ordering::Relaxed);
                pair.run_step(op).await.map_err(|difference| {
                    TestCaseError::fail(format!("step {step}, {op:?}: {difference}"))
                })?;
            }
            match replay {
                Some((server, replayed)) => replayed
                    .compare(server, &queue)
                    .await
                    .map_err(TestCaseError::fail),
                None => Ok(()),
            }
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
        is_case_count_given() || operations >= OPERATIONS_MIN,
        "{operations} operations are too few"
    );
}

/// The sequences are the same in each run, so that a failure repeats. The environment may select others.
fn proptest_config() -> Config {
    let defaults = Config::default();
    Config {
        cases: if is_case_count_given() {
            defaults.cases
        } else {
            CASES
        },
        rng_seed: match defaults.rng_seed {
            RngSeed::Random => RngSeed::Fixed(2_025),
            fixed @ RngSeed::Fixed(_) => fixed,
        },
        failure_persistence: None,
        // Milliseconds. With more time the search for a shorter sequence would exceed the time limit of the
        // test.
        max_shrink_time: 20_000,
        ..defaults
    }
}

fn is_case_count_given() -> bool {
    env::var_os("PROPTEST_CASES").is_some()
}
