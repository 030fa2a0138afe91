//! Random operations on the embedded server, after each of which the invariants of the line hold. Redis, Valkey and a
//! cluster are asked each call of it once more.
//!
//! `PROPTEST_RNG_SEED` and `PROPTEST_CASES` select other sequences than a usual run, and more of them. A replay asks one
//! server for all of them, and tells how often it called each script.

mod adopt_operations;
mod check_operations;
mod checked_line;
mod clock_readings;
mod commands;
mod crowded_lanes;
mod journal_operations;
mod operations;
mod queue_keys;
mod recovered_queues;
mod recovery_operations;
mod replay;
mod settings_operations;
mod silent_visitors;
mod stored_operations;

use std::{
    env,
    sync::atomic::{AtomicUsize, Ordering},
};

use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use tokio::runtime::{Builder, Runtime};
use vestibule_tests::lines::{Backend, fresh_queue};

use self::{checked_line::CheckedLine, replay::Replay};

const CASES: u32 = 220;
const OPERATIONS_MIN: usize = 20_000;

#[test]
fn invariants_hold_on_the_embedded_server() {
    run_sequences(&start_runtime(), None);
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

/// Runs random sequences on the embedded server, and asks another one each call of it once more.
fn replay_on(server: Backend) {
    let runtime = start_runtime();
    let replay = runtime.block_on(Replay::connect(server));
    run_sequences(&runtime, Some(&replay));
    println!("{replay}");
    let uncalled = replay.find_uncalled();
    assert!(uncalled.is_empty(), "no operation calls {uncalled:?}");
}

fn start_runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("the runtime starts")
}

fn run_sequences(runtime: &Runtime, replay: Option<&Replay>) {
    let line = runtime.block_on(Backend::Embedded.connect_to_server());
    let operations = AtomicUsize::new(0);
    let mut runner = TestRunner::new(proptest_config());
    let outcome = runner.run(&operations::sequence(), |ops| {
        runtime.block_on(async {
            let queue = replay.map_or_else(fresh_queue, |replay| replay.queue.clone());
            if let Some(replay) = replay {
                replay.begin().await;
            }
            let link = Backend::Embedded.raw_link(&queue).await;
            let mut checked = CheckedLine::new(line.clone(), link, queue, replay.is_some()).await;
            for (step, op) in ops.iter().enumerate() {
                operations.fetch_add(1, Ordering::Relaxed);
                checked
                    .run_step(op)
                    .await
                    .map_err(|broken| TestCaseError::fail(format!("step {step}, {op:?}: {broken}")))?;
            }
            match replay {
                Some(replay) => replay.compare().await.map_err(TestCaseError::fail),
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
    println!("{operations} operations");
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
