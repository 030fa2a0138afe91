//! A primary dies in the middle of a load, and the replica that takes its place had missed the last writes.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use vestibule_domain::id::QueueId;
use vestibule_tests::{cluster::Node, entries::now_ms, waiting::wait_until};

use crate::{
    reckoning::{Missed, lost_places, reckon, tell},
    scene::Scene,
    story::{Plan, Story},
};

const VISITORS: usize = 200;
/// Who stand in line elsewhere meanwhile.
const NEIGHBOURS: usize = 50;
const ARRIVING: Duration = Duration::from_secs(5);
/// When so many have come, the replica hears of nothing any more.
const BEFORE_CUT: usize = 70;
/// When so many more have come, the primary dies, with all that it had alone.
const BEFORE_DEATH: usize = 40;
/// So long nobody has its place.
const AWAY: Duration = Duration::from_secs(1);
/// Everybody is through long before.
const BOUND: Duration = Duration::from_mins(1);

/// How a primary goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    /// The process ends, and its connections with it.
    Killed,
    /// Nobody hears of it any more, and no connection breaks.
    Frozen,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_is_killed() {
    fails_over(Death::Killed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_freezes() {
    fails_over(Death::Frozen).await;
}

async fn fails_over(death: Death) {
    let mut scene = Scene::open().await;
    let (mut primary, mut replica) = scene.pair().await;
    let stories = stories_of(&scene.struck, VISITORS);
    // They are on another primary, and are not to notice much.
    let neighbours = stories_of(&scene.spared, NEIGHBOURS);
    let start = Instant::now();
    let load = begin(&scene, &stories);
    let beside = begin(&scene, &neighbours);

    let have_come = async |many| wait_until(BOUND, "so many came", async || entered(&stories) >= many).await;
    have_come(BEFORE_CUT).await;
    cut(&mut primary, &mut replica).await;
    let (cut_at, cut_at_ms) = (Instant::now(), now_ms());
    have_come(entered(&stories) + BEFORE_DEATH).await;
    match death {
        Death::Killed => primary.kill().await,
        Death::Frozen => primary.freeze().await,
    }
    let missed = Missed {
        time: cut_at..Instant::now(),
        line_time_ms: cut_at_ms..now_ms(),
    };
    let kept = scene.members(&mut replica).await;
    let lost = lost_places(&stories, &kept, missed.time.end);
    println!("the replica lacks {lost} places");
    assert!(
        lost >= 5,
        "hardly anything was lost, which proves nothing: {lost}"
    );
    sleep(AWAY).await;
    replica.ask::<String>(&["CLUSTER", "FAILOVER", "TAKEOVER"]).await;
    // A process that starts now was told of one that lives, too.
    let late = scene.late_process(&[primary.port, replica.port]);
    scene.processes.push(late);

    is_over(load, &stories).await;
    is_over(beside, &neighbours).await;
    println!("everybody was through after {:?}", start.elapsed());
    let by_the_late_one = stories[1].epilogue(&scene.processes[2..]).await;
    assert_eq!(by_the_late_one.status, 410, "it finds the line, too");
    tell("of the struck queue", &stories);
    tell("of the spared queue", &neighbours);
    reckon(&mut scene, &stories, &missed).await;
}

/// Visitors of a queue; every fifth means to leave the line.
fn stories_of(queue: &QueueId, many: usize) -> Vec<Story> {
    let plan = |n| if n % 5 == 0 { Plan::Leaves } else { Plan::Served };
    (0..many).map(|n| Story::new(queue, plan(n))).collect()
}

/// They come one after the other.
fn begin(scene: &Scene, stories: &[Story]) -> Vec<JoinHandle<()>> {
    let pause = ARRIVING / u32::try_from(stories.len()).expect("not that many");
    let run = |(n, story): (u32, &Story)| {
        let (story, processes) = (story.clone(), scene.processes.clone());
        tokio::spawn(async move {
            sleep(pause * n).await;
            story.run(&processes).await;
        })
    };
    (0..).zip(stories).map(run).collect()
}

async fn is_over(load: Vec<JoinHandle<()>>, stories: &[Story]) {
    let Ok(through) = timeout(BOUND, join_all(load)).await else {
        let stuck = stories.iter().filter(|story| story.told().ended_at.is_none());
        let stuck: Vec<_> = stuck.map(|story| story.told().clone()).collect();
        let (many, some) = (stuck.len(), &stuck[..stuck.len().min(5)]);
        panic!("{many} are not through in {BOUND:?}: {some:#?}");
    };
    for story in through {
        story.expect("a story that ends well");
    }
}

fn entered(stories: &[Story]) -> usize {
    stories
        .iter()
        .filter(|story| story.told().entered_at.is_some())
        .count()
}

/// The replica may not log in any more, and loses the link that it has.
async fn cut(primary: &mut Node, replica: &mut Node) {
    let connected = "connected_slaves:1";
    primary
        .until(&["INFO", "replication"], |said| said.contains(connected))
        .await;
    replica
        .ask::<String>(&["CONFIG", "SET", "masterauth", "unknown", "masteruser", "nobody"])
        .await;
    primary.ask::<u64>(&["CLIENT", "KILL", "TYPE", "replica"]).await;
    primary
        .until(&["INFO", "replication"], |said| !said.contains(connected))
        .await;
}
