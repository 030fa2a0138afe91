//! Chaos: visitors on their way through a queue while its Redis, its table, its network and its functions fail at random,
//! and a checker with a record of its own of every answer that was acknowledged.
//!
//! A run follows a [plan](plan::Plan) that is drawn from a seed. It has four parts: everything goes wrong; nobody moves, until
//! the journal is in the table, and the line and the table are compared; everybody goes on to the end, with nothing wrong
//! any more; and the [checker] judges.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

mod actors;
pub mod checker;
pub mod compare;
pub mod history;
pub mod plan;
mod redis;
mod report;
mod table;
mod tcp;
pub mod watcher;
mod way;
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

pub use self::report::Outcome;
use self::{
    actors::{Actor, Phase, visitor_id},
    checker::Findings,
    compare::{Settled, settle},
    plan::Plan,
    watcher::watch_line,
    way::Way,
    world::World,
};

/// Requests under way are over within this.
const STILL: Duration = Duration::from_secs(30);
/// Everybody is through within this, once nothing goes wrong any more: usually it takes 10 s, most of it the time that nobody
/// claims.
const THROUGH: Duration = Duration::from_mins(2);

/// Goes through the plan of a seed.
pub async fn run(seed: u64) -> Outcome {
    let started = Instant::now();
    let plan = Plan::of(seed);
    let world = World::open(&plan).await;
    let (stop, stopped) = watch::channel(false);
    let address = world.redis.lock().await.address();
    let watching = tokio::spawn(watch_line(world.queue.clone(), address, stopped.clone()));
    let promoters = world.promoters(plan.promoters, &stopped);
    let (phase, seen_phase) = watch::channel(Phase::Going);
    let way = Arc::new(Way::to(&world));
    let actors: Vec<_> = plan
        .visitors
        .iter()
        .enumerate()
        .map(|(number, visitor)| Actor {
            number,
            plan: visitor.clone(),
            id: visitor_id(),
            way: way.clone(),
            phase: seen_phase.clone(),
        })
        .collect();
    let ids: Vec<_> = actors.iter().map(|actor| actor.id.clone()).collect();
    let mut living: Vec<_> = actors
        .into_iter()
        .map(|actor| tokio::spawn(actor.live()))
        .collect();
    world.suffer(&plan.strikes).await;

    phase.send_replace(Phase::Still);
    let mut stuck = Vec::new();
    if !is_quiet(&way).await {
        stuck.push("a request is never answered".to_owned());
    }
    let mut differences = Vec::new();
    let mut note = |when: &str, settled: Settled| {
        stuck.extend(settled.stuck.map(|what| format!("{when}, {what}")));
        differences.extend(settled.differences);
    };
    note("after the faults", settle(&world).await);
    way.look_at_all(&ids).await;

    phase.send_replace(Phase::Through);
    let late = await_all(&mut living).await;
    phase.send_replace(Phase::Over);
    is_quiet(&way).await;
    note("at the end", settle(&world).await);
    stuck.extend(
        late.into_iter()
            .map(|number| format!("visitor {number} is not through")),
    );
    stop.send_replace(true);
    world.deployment.lambda.kill("promoter");
    for promoter in promoters {
        promoter.await.expect("no panic");
    }
    for visitor in 0..ids.len() {
        way.note_last_record(visitor).await;
    }
    let findings = Findings {
        calls: way.history.calls(),
        struck: world.struck(),
        samples: watching.await.expect("no panic"),
        records: way.history.records(),
        differences,
        stuck,
        plan,
    };
    Outcome {
        violations: findings.violations(),
        findings,
        took: started.elapsed(),
    }
}

/// Waits until no request is under way.
async fn is_quiet(way: &Way) -> bool {
    let end = Instant::now() + STILL;
    while way.asking.load(Ordering::SeqCst) > 0 {
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(10)).await;
    }
    true
}

/// Waits until everybody is done; who is not, in the end.
async fn await_all<T>(living: &mut [JoinHandle<T>]) -> Vec<usize> {
    let all = async {
        for actor in living.iter_mut() {
            while !actor.is_finished() {
                sleep(Duration::from_millis(20)).await;
            }
        }
    };
    let _ = timeout(THROUGH, all).await;
    let late = living
        .iter()
        .enumerate()
        .filter(|(_, actor)| !actor.is_finished());
    late.map(|(number, _)| number).collect()
}
