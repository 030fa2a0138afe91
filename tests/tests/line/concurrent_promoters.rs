//! Several promoters on one queue at the same time, in real time.

use std::{collections::HashSet, time::Duration};

use tokio::{task::JoinSet, time::Instant};
use vestibule_domain::{
    change::Event,
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    pace::LimitedBy,
    score::WaitScore,
    settings::Settings,
};
use vestibule_line::{Arrival, ConfigureOutcome, EnterOutcome, Line};
use vestibule_tests::lines::{Backend, configuration, fresh_queue, tick_order, visitor};

const CROWD: u64 = 100_000;
const CAPACITY: u64 = 40_000;
const BATCH: u64 = 20_000;
const PROMOTERS: u64 = 8;
const PATIENCE: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_promoters_share_an_embedded_line() {
    eight_promoters_share_a_line(Backend::Embedded).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_promoters_share_a_line_in_redis() {
    eight_promoters_share_a_line(Backend::Redis).await;
}

/// 100,000 entries wait. Eight promoters work on the same line as fast as they can, first with a capacity that
/// is too small, then with room for all. No entry is lost or overtakes another, and neither the pace nor the
/// capacity is exceeded by one.
async fn eight_promoters_share_a_line(backend: Backend) {
    let (line, queue) = (backend.connect_line(None).await, fresh_queue());
    let mut settings = Settings {
        capacity: 40_000,
        batch: 20_000,
        interval_seconds: 1,
        claim_seconds: 3_600,
        paused: true,
        presence_seconds: 0,
        ..Settings::default()
    };
    let put = async |settings: &Settings| {
        let configured = line.configure(&queue, &configuration(settings), true).await;
        configured.expect("configure")
    };
    assert_eq!(put(&settings).await, ConfigureOutcome::Created);
    let entered_in_order = enter_all(&line, &queue).await;

    settings.paused = false;
    assert_eq!(put(&settings).await, ConfigureOutcome::Changed);
    let start_ms = line.queue_view(&queue).await.expect("view").now_ms;
    promote_until(&line, &queue, CAPACITY).await;
    let view = line.queue_view(&queue).await.expect("view");
    assert_eq!((view.ready, view.waiting), (CAPACITY, CROWD - CAPACITY));
    settings.capacity = 100_000;
    assert_eq!(put(&settings).await, ConfigureOutcome::Changed);
    promote_until(&line, &queue, CROWD).await;

    let (mut promoted_in_order, mut last_version) = (Vec::new(), None);
    loop {
        let records = line.due_journal_records(&queue, 10).await.expect("journal");
        if records.is_empty() {
            break;
        }
        for record in &records {
            let (version, at_ms) = (record.changes[0].version, record.changes[0].at_ms);
            assert!(last_version < Some(version), "records are in order");
            last_version = Some(version);
            for change in &record.changes {
                match change.event {
                    Event::Promoted { place, .. } => promoted_in_order.push((place, change.id)),
                    other => panic!("the journal contains another change than a promotion: {other:?}"),
                }
            }
            let elapsed_ms = at_ms - start_ms;
            assert!(
                promoted_in_order.len() as u64 <= BATCH + elapsed_ms * BATCH / 1_000,
                "{} promoted after {elapsed_ms} ms",
                promoted_in_order.len()
            );
        }
        let keys: Vec<_> = records.into_iter().map(|record| record.key).collect();
        line.acknowledge(&queue, &keys, &[]).await.expect("acknowledge");
    }
    assert!(promoted_in_order.is_sorted(), "no entry overtakes another");
    assert!(
        promoted_in_order == entered_in_order,
        "each entry is promoted once, with the place that it got when entering"
    );
}

/// Lets all visitors enter through many concurrent callers, and returns their places in order.
async fn enter_all(line: &Line, queue: &QueueId) -> Vec<(WaitScore, EntryId)> {
    const CALLERS: u64 = 64;
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (line, queue) = (line.clone(), queue.clone());
        callers.spawn(async move {
            let mut places = Vec::new();
            for number in (caller..CROWD).step_by(usize::try_from(CALLERS).expect("64")) {
                let id = visitor(number);
                match line.enter(&queue, id, Arrival::Ordinary).await.expect("enter") {
                    EnterOutcome::Joined {
                        status: EntryStatus::Waiting { score, .. },
                        ..
                    } => places.push((score, id)),
                    other => panic!("{other:?}"),
                }
            }
            places
        });
    }
    let mut places = callers.join_all().await.concat();
    places.sort_unstable();
    let scores: HashSet<_> = places.iter().map(|(score, _)| score).collect();
    assert_eq!(scores.len() as u64, CROWD, "each entry has a place of its own");
    places
}

/// Promotes with all promoters at once until this many entries are ready. No answer may show more.
async fn promote_until(line: &Line, queue: &QueueId, ready: u64) {
    let deadline = Instant::now() + PATIENCE;
    let mut promoters = JoinSet::new();
    for _ in 0..PROMOTERS {
        let (line, queue) = (line.clone(), queue.clone());
        promoters.spawn(async move {
            loop {
                let tick = line.promote(&queue, tick_order(u64::MAX)).await.expect("promote");
                assert!(tick.ready <= ready, "{tick:?}");
                assert_eq!((tick.no_shows, tick.active), (0, 0));
                if tick.ready == ready {
                    assert_ne!(tick.limited_by, LimitedBy::Switch);
                    return;
                }
                assert!(Instant::now() < deadline, "{tick:?}");
                // Lets the other promoters run.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
    }
    promoters.join_all().await;
}
