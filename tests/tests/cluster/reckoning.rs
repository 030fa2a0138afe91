//! What must be so when a load is over, whatever happened in the middle of it.

use std::{collections::HashSet, ops::Range, time::Duration};

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};
use vestibule_domain::{id::EntryId, record::EntryRecord, score::WaitScore, state::EntryState};

use crate::{
    scene::{BATCH, CAPACITY, Scene},
    story::{Plan, Story},
};

/// Whoever is in the line and does not come back is dropped after the time to claim, or at the end of the session.
const DROPPED: Duration = Duration::from_mins(1);

/// How many of those in the line, and acknowledged as durable, a replica does not have.
pub(crate) fn lost_places(stories: &[Story], kept: &[EntryId], died_at: Instant) -> usize {
    let kept: HashSet<_> = kept.iter().map(ToString::to_string).collect();
    let is_lost = |story: &&Story| {
        let told = story.told();
        let is_in_line = told.is_durable && told.ended_at.is_none();
        is_in_line && told.entered_at.is_some_and(|at| at < died_at) && !kept.contains(&told.token)
    };
    stories.iter().filter(is_lost).count()
}

/// From the moment when the replica hears of nothing any more to the death of the primary.
pub(crate) struct Missed {
    pub(crate) time: Range<Instant>,
    /// The same in Unix milliseconds.
    pub(crate) line_time_ms: Range<u64>,
}

impl Missed {
    /// Whether the end may be one of which the new primary never heard.
    fn end_of(&self, story: &Story) -> bool {
        let ended_at = story.told().ended_at;
        ended_at.is_some_and(|at| self.time.contains(&at))
    }

    /// Whether the turn may be one of which the new primary never heard, and which it gives again. The table shows the
    /// one or the other then.
    fn turn_at(&self, promoted_at_ms: u64) -> bool {
        self.line_time_ms.contains(&promoted_at_ms)
    }
}

pub(crate) async fn reckon(scene: &mut Scene, stories: &[Story], missed: &Missed) {
    let durable = stories.iter().filter(|story| story.told().is_durable).count();
    assert!(durable > stories.len() / 2, "only {durable} were durable");
    for story in stories.iter().filter(|story| story.told().is_durable) {
        nobody_comes_back(scene, story).await;
    }
    let inside = scene.most_inside();
    assert!(inside <= CAPACITY, "{inside} were ready and active at once");
    scene.close().await;

    let stories: Vec<_> = stories.iter().filter(|story| story.told().is_durable).collect();
    let records = join_all(stories.iter().map(async |story| {
        let token = story.told().token.clone();
        scene.record(&token).await
    }));
    let records = records.await;
    // The new primary may hold somebody who is gone, until they time out.
    let certain: Vec<_> = stories
        .iter()
        .zip(&records)
        .filter(|(story, _)| !missed.end_of(story))
        .collect();
    for (story, record) in &certain {
        as_told(story, record);
    }
    let mut turns: Vec<_> = certain
        .iter()
        .filter_map(|(_, record)| Some((record.score?, record.promoted_at_ms?)))
        .collect();
    turns.sort_unstable();
    in_pace(&turns);
    turns.retain(|(_, promoted_at_ms)| !missed.turn_at(*promoted_at_ms));
    in_order(&turns);
}

/// What they went through, for whoever reads the log.
pub(crate) fn tell(whose: &str, stories: &[Story]) {
    let sum = |count: fn(&crate::story::Told) -> usize| -> usize {
        stories.iter().map(|story| count(&story.told())).sum()
    };
    println!(
        "{whose}: {} answers were degraded and {} were 503, the slowest took {:?}; {} were let in and sent back",
        sum(|told| told.degraded),
        sum(|told| told.away),
        stories.iter().map(|story| story.told().slowest).max(),
        sum(|told| told.sent_back),
    );
}

/// Whoever left or was served is gone, at the latest when their time is over.
async fn nobody_comes_back(scene: &Scene, story: &Story) {
    let end = Instant::now() + DROPPED;
    loop {
        let answer = story.epilogue(&scene.processes).await;
        if answer.status == 410 {
            return;
        }
        assert!(Instant::now() < end, "{answer:?} for {:?}", story.told());
        sleep(Duration::from_millis(200)).await;
    }
}

/// The table has of a visitor what the visitor was told.
fn as_told(story: &Story, record: &EntryRecord) {
    let told = story.told();
    let left = told.left && story.plan == Plan::Leaves;
    let state = if left {
        EntryState::Left
    } else {
        EntryState::Completed
    };
    assert_eq!(record.state, state, "{record:?} for {told:?}");
    assert_eq!(u64::from(record.visit.number()), told.visit, "{record:?}");
    assert!(
        told.joined_at_ms.is_none() || record.joined_at_ms() == told.joined_at_ms,
        "{record:?} for {told:?}"
    );
}

/// Whoever had the better place had the turn first.
fn in_order(turns: &[(WaitScore, u64)]) {
    for pair in turns.windows(2) {
        assert!(
            pair[0].1 <= pair[1].1,
            "{pair:?}: the later one had the turn first"
        );
    }
}

/// No second brought more turns than the pace allows. Whoever takes over may know nothing of the last batch, and release
/// one again.
fn in_pace(turns: &[(WaitScore, u64)]) {
    let start_ms = turns
        .iter()
        .map(|(_, at_ms)| *at_ms)
        .min()
        .expect("some had a turn");
    for (_, at_ms) in turns {
        let before = turns.iter().filter(|(_, other_ms)| other_ms < at_ms).count() as u64;
        let most = 2 * BATCH + (at_ms - start_ms) * BATCH / 1_000;
        assert!(
            before <= most,
            "{before} were let in within {} ms",
            at_ms - start_ms
        );
    }
}
