//! A primary dies in the middle of a load, and the replica that takes its place had missed the last writes.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};
use vestibule_tests::cluster::Node;

use crate::{
    reckoning::{ended_between, lost_places, reckon},
    scene::{Scene, after},
    story::{Plan, Story},
};

const VISITORS: usize = 200;
const ARRIVING: Duration = Duration::from_secs(5);
/// From here on the replica hears of nothing any more.
const CUT_MS: u64 = 1_800;
/// Here the primary dies, with all that it had alone.
const DEATH_MS: u64 = 3_000;
/// Here the replica takes over.
const TAKEOVER_MS: u64 = 4_000;
/// Everybody is through long before.
const BOUND: Duration = Duration::from_secs(75);

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
    let stories: Vec<_> = (0..VISITORS)
        .map(|n| {
            let plan = if n % 5 == 0 { Plan::Leaves } else { Plan::Served };
            Story::new(&scene.struck, plan)
        })
        .collect();
    let start = Instant::now();
    let load: Vec<_> = (0..)
        .zip(&stories)
        .map(|(n, story)| {
            let (story, processes) = (story.clone(), scene.processes.clone());
            let pause = ARRIVING / u32::try_from(VISITORS).expect("not that many") * n;
            tokio::spawn(async move {
                sleep(pause).await;
                story.run(&processes).await;
            })
        })
        .collect();
    // Somebody on another primary, who is not to notice much.
    let neighbour = Story::new(&scene.spared, Plan::Served);
    let living_on = {
        let (neighbour, processes) = (neighbour.clone(), scene.processes.clone());
        tokio::spawn(async move { neighbour.run(&processes).await })
    };

    after(start, CUT_MS).await;
    cut(&mut primary, &mut replica).await;
    let cut_at = Instant::now();
    after(start, DEATH_MS).await;
    match death {
        Death::Killed => primary.kill().await,
        Death::Frozen => primary.freeze().await,
    }
    let died_at = Instant::now();
    let kept = scene.members(&mut replica).await;
    let lost = lost_places(&stories, &kept, died_at);
    let ends = stories
        .iter()
        .filter(|story| ended_between(story, cut_at, died_at))
        .count();
    println!("the replica lacks {lost} places, and perhaps {ends} ends");
    assert!(
        lost >= 5,
        "hardly anything was lost, which proves nothing: {lost}"
    );
    after(start, TAKEOVER_MS).await;
    replica.ask::<String>(&["CLUSTER", "FAILOVER", "TAKEOVER"]).await;
    // A process that starts now was told of one that lives, too.
    scene
        .processes
        .push(scene.late_process(&[primary.port, replica.port]));

    let Ok(through) = timeout(BOUND, join_all(load)).await else {
        let stuck: Vec<_> = stories
            .iter()
            .filter(|story| story.told().ended_at.is_none())
            .collect();
        let some: Vec<_> = stuck.iter().take(5).map(|story| story.told().clone()).collect();
        panic!(
            "{} are not through in {BOUND:?}: {some:#?}, and the line has {:?}",
            stuck.len(),
            scene.view().await
        );
    };
    for story in through {
        story.expect("a story that ends well");
    }
    living_on.await.expect("the neighbour's, too");
    println!("everybody was through after {:?}", start.elapsed());
    let late = &scene.processes[2..];
    assert_eq!(
        stories[1].epilogue(late).await.status,
        410,
        "the late process finds the line, too"
    );
    reckon(&mut scene, &stories, cut_at, died_at).await;
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
