//! What must hold after a load, whatever happened in the middle of it.

use std::{collections::HashSet, ops::Range, time::Duration};

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};
use vestibule_crowd::{
    checks::{Faults, most_slots_at_once},
    record::VisitEnd,
};
use vestibule_domain::{id::EntryId, record::EntryRecord, score::WaitScore, state::EntryState};

use crate::{
    scene::{BATCH, CAPACITY, Scene},
    visitor::{Plan, Visitor},
};

/// An entry whose visitor does not return is dropped after the claim time or at the end of the session.
const DROP_TIMEOUT: Duration = Duration::from_mins(1);

/// The number of entries in the line that were acknowledged as durable and that a replica lacks.
pub(crate) fn count_lost_places(visitors: &[Visitor], kept: &[EntryId], died_at: Instant) -> usize {
    let kept: HashSet<_> = kept.iter().map(ToString::to_string).collect();
    let is_lost = |visitor: &&Visitor| {
        let observations = visitor.observed();
        let is_in_line = observations.is_durable && observations.ended_at.is_none();
        is_in_line
            && observations.entered_at.is_some_and(|at| at < died_at)
            && !kept.contains(&observations.token)
    };
    visitors.iter().filter(is_lost).count()
}

/// The time from the cut of the replica to the death of the primary.
pub(crate) struct ReplicaGap {
    pub(crate) time: Range<Instant>,
    /// The same in Unix milliseconds.
    pub(crate) line_time_ms: Range<u64>,
}

impl ReplicaGap {
    /// Whether the new primary may lack the end of this visit.
    fn covers_end_of(&self, visitor: &Visitor) -> bool {
        let ended_at = visitor.observed().ended_at;
        ended_at.is_some_and(|at| self.time.contains(&at))
    }

    /// Whether the new primary may lack this promotion and promote the entry again. The table then shows one
    /// promotion or the other.
    fn covers_promotion_at(&self, promoted_at_ms: u64) -> bool {
        self.line_time_ms.contains(&promoted_at_ms)
    }
}

/// What every visitor of a queue may rely on, whatever happens to its primary.
pub(crate) fn verify_what_was_seen(visitors: &[Visitor]) -> Faults {
    let records: Vec<_> = visitors
        .iter()
        .filter_map(|visitor| visitor.observed().record.clone())
        .collect();
    assert_eq!(records.len(), visitors.len());
    let faults = Faults::of(&records);
    let seen = [
        faults.shown_rises,
        faults.ahead_rises,
        faults.second_ids,
        faults.old_documents,
    ];
    assert_eq!(seen, [0; 4], "{faults:?}");
    let slots = most_slots_at_once(&records);
    assert!(slots <= CAPACITY, "{slots} visitors held a slot at once");
    faults
}

pub(crate) async fn verify_visits(scene: &mut Scene, visitors: &[Visitor], gap: &ReplicaGap) {
    let durable = visitors
        .iter()
        .filter(|visitor| visitor.observed().is_durable)
        .count();
    assert!(
        durable > visitors.len() / 2,
        "only {durable} entries were durable"
    );
    for visitor in visitors.iter().filter(|visitor| visitor.observed().is_durable) {
        wait_until_ended(scene, visitor).await;
    }
    let inside = scene.most_inside();
    assert!(
        inside <= CAPACITY,
        "{inside} entries were ready or active at once"
    );
    scene.close().await;

    let visitors: Vec<_> = visitors
        .iter()
        .filter(|visitor| visitor.observed().is_durable)
        .collect();
    let records = join_all(visitors.iter().map(async |visitor| {
        let token = visitor.observed().token.clone();
        scene.record(&token).await
    }));
    let records = records.await;
    // The new primary may still hold an entry that ended, until it times out.
    let certain: Vec<_> = visitors
        .iter()
        .zip(&records)
        .filter(|(visitor, _)| !gap.covers_end_of(visitor))
        .collect();
    for (visitor, record) in &certain {
        verify_record(visitor, record);
    }
    let mut turns: Vec<_> = certain
        .iter()
        .filter_map(|(_, record)| Some((record.score?, record.promoted_at_ms?)))
        .collect();
    turns.sort_unstable();
    verify_pace(&turns);
    turns.retain(|(_, promoted_at_ms)| !gap.covers_promotion_at(*promoted_at_ms));
    verify_order(&turns);
}

/// Prints what the visitors experienced, for the reader of the log.
pub(crate) fn print_summary(whose: &str, visitors: &[Visitor]) {
    let sum = |count: fn(&crate::visitor::Observations) -> usize| -> usize {
        visitors.iter().map(|visitor| count(&visitor.observed())).sum()
    };
    println!(
        "{whose}: {} answers were degraded and {} were 503, the slowest took {:?}; {} were let in and sent back",
        sum(|observations| observations.degraded),
        sum(|observations| observations.unavailable),
        visitors.iter().map(|visitor| visitor.observed().slowest).max(),
        sum(|observations| observations.times_sent_back),
    );
}

/// An entry whose visitor left or was served has ended, at the latest when its time is over.
async fn wait_until_ended(scene: &Scene, visitor: &Visitor) {
    let end = Instant::now() + DROP_TIMEOUT;
    loop {
        let answer = visitor.status_after_end(&scene.processes).await;
        if answer.status == 410 {
            return;
        }
        assert!(Instant::now() < end, "{answer:?} for {:?}", visitor.observed());
        sleep(Duration::from_millis(200)).await;
    }
}

/// The record in the table agrees with what the visitor was told.
fn verify_record(visitor: &Visitor, record: &EntryRecord) {
    let observations = visitor.observed();
    let end = observations
        .record
        .as_ref()
        .and_then(|record| record.end.as_ref());
    let left = end == Some(&VisitEnd::LeftLine) && visitor.plan == Plan::Leaves;
    let state = if left {
        EntryState::Left
    } else {
        EntryState::Completed
    };
    assert_eq!(record.state, state, "{record:?} for {observations:?}");
    assert_eq!(record.visit().number(), observations.visit, "{record:?}");
    assert!(
        observations.joined_at_ms.is_none() || record.joined_at_ms() == observations.joined_at_ms,
        "{record:?} for {observations:?}"
    );
}

/// Entries were promoted in the order of their places.
fn verify_order(turns: &[(WaitScore, u64)]) {
    for pair in turns.windows(2) {
        assert!(
            pair[0].1 <= pair[1].1,
            "{pair:?}: the later place was promoted first"
        );
    }
}

/// No period has more promotions than the pace allows. A promoter that takes over may not know the last batch
/// and may promote one batch again.
fn verify_pace(turns: &[(WaitScore, u64)]) {
    let start_ms = turns
        .iter()
        .map(|(_, at_ms)| *at_ms)
        .min()
        .expect("there are promotions");
    for (_, at_ms) in turns {
        let before = turns.iter().filter(|(_, other_ms)| other_ms < at_ms).count() as u64;
        let most = 2 * BATCH + (at_ms - start_ms) * BATCH / 1_000;
        assert!(
            before <= most,
            "{before} entries were promoted within {} ms",
            at_ms - start_ms
        );
    }
}
