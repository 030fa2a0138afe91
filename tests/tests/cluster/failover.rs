//! A primary dies in the middle of a load. The replica that takes its place lacks the last writes.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use vestibule_crowd::checks::Faults;
use vestibule_domain::id::QueueId;
use vestibule_tests::{cluster::Node, entries::now_ms, waiting::wait_until};

use crate::{
    scene::Scene,
    verify::{ReplicaGap, count_lost_places, print_summary, verify_visits, verify_what_was_seen},
    visitor::{Plan, Visitor},
};

const VISITORS: usize = 200;
/// The number of visitors of the queue on another primary.
const NEIGHBOURS: usize = 50;
const ARRIVAL_TIME: Duration = Duration::from_secs(5);
/// After this many visitors have entered, the replica is cut off from its primary.
const ENTRIES_BEFORE_CUT: usize = 70;
/// After this many more visitors have entered, the primary dies. The replica lacks these entries.
const ENTRIES_BEFORE_DEATH: usize = 40;
/// The time until the replica takes over.
const OUTAGE: Duration = Duration::from_secs(1);
/// The longest time that a load may take.
const BOUND: Duration = Duration::from_mins(1);

/// How a primary dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    /// The process ends, and its connections break.
    Killed,
    /// The process no longer answers, and its connections stay open.
    Frozen,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visitors_keep_their_places_if_a_primary_is_killed() {
    load_survives(Death::Killed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visitors_keep_their_places_if_a_primary_freezes() {
    load_survives(Death::Frozen).await;
}

async fn load_survives(death: Death) {
    let mut scene = Scene::open().await;
    let (mut primary, mut replica) = scene.primary_and_replica().await;
    let visitors = create_visitors(&scene.struck, VISITORS, Plan::Asks);
    // This queue lies on another primary. Its visitors should hardly notice the failure.
    let neighbours = create_visitors(&scene.spared, NEIGHBOURS, Plan::Served);
    let start = Instant::now();
    let load = start_load(&scene, &visitors);
    let neighbour_load = start_load(&scene, &neighbours);

    let wait_until_entered = async |many| {
        wait_until(BOUND, "enough visitors entered", async || {
            count_entered(&visitors) >= many
        })
        .await;
    };
    wait_until_entered(ENTRIES_BEFORE_CUT).await;
    cut_replica(&mut primary, &mut replica).await;
    let (cut_at, cut_at_ms) = (Instant::now(), now_ms());
    wait_until_entered(count_entered(&visitors) + ENTRIES_BEFORE_DEATH).await;
    match death {
        Death::Killed => primary.kill().await,
        Death::Frozen => primary.freeze().await,
    }
    let gap = ReplicaGap {
        time: cut_at..Instant::now(),
        line_time_ms: cut_at_ms..now_ms(),
    };
    let kept = scene.entries_on(&mut replica).await;
    let lost = count_lost_places(&visitors, &kept, gap.time.end);
    println!("the replica lacks {lost} places");
    assert!(
        lost >= 5,
        "the replica lacks too few places to prove anything: {lost}"
    );
    sleep(OUTAGE).await;
    replica
        .query::<String>(&["CLUSTER", "FAILOVER", "TAKEOVER"])
        .await;
    // A process that starts now knows a node that lives.
    let late = scene.start_late_process(&[primary.port, replica.port]);
    scene.processes.push(late);

    finish(load, &visitors).await;
    finish(neighbour_load, &neighbours).await;
    println!("all visitors were through after {:?}", start.elapsed());
    let by_the_late_one = visitors[1].status_after_end(&scene.processes[2..]).await;
    assert_eq!(by_the_late_one.status, 410, "the late process finds the line");
    print_summary("of the struck queue", &visitors);
    print_summary("of the spared queue", &neighbours);
    assert_eq!(verify_what_was_seen(&neighbours), Faults::default());
    verify_what_was_seen(&visitors);
    verify_visits(&mut scene, &visitors, &gap).await;
}

/// The visitors of a queue. Every fifth one plans to leave the line, and the others have this plan.
fn create_visitors(queue: &QueueId, many: usize, others: Plan) -> Vec<Visitor> {
    let plan = |n| if n % 5 == 0 { Plan::Leaves } else { others };
    (0..many).map(|n| Visitor::new(queue, plan(n))).collect()
}

/// Lets the visitors enter one after the other.
fn start_load(scene: &Scene, visitors: &[Visitor]) -> Vec<JoinHandle<()>> {
    let pause = ARRIVAL_TIME / u32::try_from(visitors.len()).expect("not that many");
    let run = |(n, visitor): (u32, &Visitor)| {
        let (visitor, processes) = (visitor.clone(), scene.processes.clone());
        tokio::spawn(async move {
            sleep(pause * n).await;
            visitor.run(&processes).await;
        })
    };
    (0..).zip(visitors).map(run).collect()
}

async fn finish(load: Vec<JoinHandle<()>>, visitors: &[Visitor]) {
    let Ok(finished) = timeout(BOUND, join_all(load)).await else {
        let stuck = visitors
            .iter()
            .filter(|visitor| visitor.observed().ended_at.is_none());
        let stuck: Vec<_> = stuck.map(|visitor| visitor.observed().clone()).collect();
        let (many, some) = (stuck.len(), &stuck[..stuck.len().min(5)]);
        panic!("{many} visitors are not through in {BOUND:?}: {some:#?}");
    };
    for visitor in finished {
        visitor.expect("the visitor's task does not panic");
    }
}

fn count_entered(visitors: &[Visitor]) -> usize {
    visitors
        .iter()
        .filter(|visitor| visitor.observed().entered_at.is_some())
        .count()
}

/// Takes from the replica the right to log in, and closes its connection.
async fn cut_replica(primary: &mut Node, replica: &mut Node) {
    let connected = "connected_slaves:1";
    primary
        .wait_until(&["INFO", "replication"], |said| said.contains(connected))
        .await;
    replica
        .query::<String>(&["CONFIG", "SET", "masterauth", "unknown", "masteruser", "unknown"])
        .await;
    primary.query::<u64>(&["CLIENT", "KILL", "TYPE", "replica"]).await;
    primary
        .wait_until(&["INFO", "replication"], |said| !said.contains(connected))
        .await;
}
