//! Chaos tests: visitors pass through a queue while its Redis, its table, its network and its functions fail at
//! random. A checker keeps its own record of each acknowledged answer.
//!
//! A run follows a [plan](plan::Plan) that is drawn from a seed. It has four parts. First, faults strike.
//! Second, no visitor sends requests until the journal is flushed, and the line and the table are compared.
//! Third, visitors finish without faults. Fourth, the [checker] looks for violations.

// The harness panics if a test cannot go on.
#![allow(clippy::missing_panics_doc)]

mod actors;
mod api_client;
pub mod checker;
pub mod compare;
pub mod history;
mod link;
pub mod lives;
pub mod plan;
mod redis_pair;
mod report;
mod table_route;
pub mod watcher;
pub mod world;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use vestibule_crowd::checks::Faults;

pub use self::report::Outcome;
use self::{
    actors::{Actor, ActorOutcome, visitor_id},
    api_client::ApiClient,
    checker::{Findings, Violation},
    compare::{Comparison, compare_after_flush},
    link::Phase,
    plan::Plan,
    watcher::watch_line,
    world::World,
};

/// The time limit for the requests in flight.
const QUIET_MAX: Duration = Duration::from_secs(30);
/// The time limit for all visitors to finish once no fault strikes any more. It usually takes 10 s, most of
/// which are turns that no visitor claims.
const FINISH_MAX: Duration = Duration::from_mins(2);

/// Runs the plan of a seed.
pub async fn run_seed(seed: u64) -> Outcome {
    let started = Instant::now();
    let plan = Plan::draw(seed);
    let world = World::open(plan.promoters, &plan.settings()).await;
    let (stop, stopped) = watch::channel(false);
    let address = world.redis.lock().await.address();
    let watcher = tokio::spawn(watch_line(world.queue.clone(), address, stopped.clone()));
    let promoters = world.start_promoters(plan.promoters, &stopped);
    let (phase, seen_phase) = watch::channel(Phase::Faults);
    let client = Arc::new(ApiClient::for_world(&world));
    let ids: Vec<_> = plan.visitors.iter().map(|_| visitor_id()).collect();
    let actors: Vec<_> = (plan.visitors.iter().zip(&ids).enumerate())
        .map(|(number, (visitor, id))| Actor::new(number, visitor, id, &client, &seen_phase))
        .collect();
    let links: Vec<_> = actors.iter().map(|actor| actor.link.clone()).collect();
    let mut tasks: Vec<_> = actors
        .into_iter()
        .map(|actor| tokio::spawn(actor.run()))
        .collect();
    world.run_faults(&plan.faults).await;

    phase.send_replace(Phase::Quiet);
    let mut stuck = Vec::new();
    if !await_quiet(&client).await {
        stuck.push("a request was never answered".to_owned());
    }
    let mut differences = Vec::new();
    let mut add_comparison = |when: &str, comparison: Comparison| {
        stuck.extend(comparison.stuck.map(|what| format!("{when}, {what}")));
        differences.extend(comparison.differences);
    };
    add_comparison("after the faults", compare_after_flush(&world).await);
    // A visitor who missed the turn meanwhile may enter again without having been told of it.
    for visitor in client.poll_all(&ids).await {
        links[visitor].begin_stay().await;
    }

    phase.send_replace(Phase::Recovery);
    let late = await_visitors(&mut tasks).await;
    phase.send_replace(Phase::Ended);
    await_quiet(&client).await;
    add_comparison("at the end", compare_after_flush(&world).await);
    stop.send_replace(true);
    world.deployment.lambda.kill("promoter");
    for promoter in promoters {
        promoter.await.expect("the promoter task does not panic");
    }
    for visitor in 0..ids.len() {
        client.record_last_stay(visitor).await;
    }
    let findings = Findings {
        calls: client.history.calls(),
        fault_periods: world.fault_periods(),
        samples: watcher.await.expect("the watcher task does not panic"),
        records: client.history.records(),
        differences,
        stuck,
        plan,
    };
    let mut violations = findings.violations();
    violations.extend(late.iter().map(|number| Violation {
        guarantee: "every visitor finishes",
        visitors: vec![*number],
        what: format!("visitor {number} did not finish"),
    }));
    violations.extend(find_faults_of_visitors(tasks).await);
    Outcome {
        violations,
        findings,
        duration: started.elapsed(),
    }
}

/// What the visitors saw that none may see, whatever fails. Those who have not finished are stopped.
async fn find_faults_of_visitors(tasks: Vec<JoinHandle<ActorOutcome>>) -> Vec<Violation> {
    let violation = |visitors: &[usize], what: String| Violation {
        guarantee: "visitors see what the rules promise",
        visitors: visitors.to_vec(),
        what,
    };
    let mut violations = Vec::new();
    for (number, task) in tasks.into_iter().enumerate() {
        if !task.is_finished() {
            task.abort();
            continue;
        }
        let outcome = task.await.expect("no visitor panics");
        let faults = Faults::of(&outcome.records);
        let is_wrong = [
            faults.shown_rises,
            faults.ahead_rises,
            faults.second_ids,
            faults.old_documents,
        ] != [0; 4];
        let seen = is_wrong.then(|| format!("{faults:?}"));
        let seen = seen.into_iter().chain(outcome.violations);
        violations.extend(seen.map(|what| violation(&[number], what)));
    }
    violations
}

/// Waits until no request is in flight.
async fn await_quiet(client: &ApiClient) -> bool {
    let end = Instant::now() + QUIET_MAX;
    while client.in_flight.load(Ordering::SeqCst) > 0 {
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(10)).await;
    }
    true
}

/// Waits until all visitors have finished. Returns those that did not within the time limit.
async fn await_visitors<T>(tasks: &mut [JoinHandle<T>]) -> Vec<usize> {
    let all = async {
        for actor in tasks.iter_mut() {
            while !actor.is_finished() {
                sleep(Duration::from_millis(20)).await;
            }
        }
    };
    let _ = timeout(FINISH_MAX, all).await;
    let late = tasks.iter().enumerate().filter(|(_, actor)| !actor.is_finished());
    late.map(|(number, _)| number).collect()
}
