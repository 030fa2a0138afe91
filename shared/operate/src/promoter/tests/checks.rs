//! Consistency checks in the promoter's loop. The tests move the line's clock themselves and do not pause
//! tokio's time, because the backup is a real one and needs real time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::json;
use vestibule_backup::{Backup, Shelf};
use vestibule_domain::id::{EntryId, QueueId};
use vestibule_line::{CheckOrder, CheckTurn, ReportOrder, Reported};
use vestibule_line_memory::MemoryLine;
use vestibule_telemetry::metrics::{CHECK_AGE, MENDED};

use super::{Scene, id, until, written::Written};

/// How far the line's clock is ahead of the system clock, in seconds.
#[derive(Clone, Default)]
struct Ahead(Arc<AtomicU64>);

impl Ahead {
    fn pass_seconds(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    fn scene(&self) -> Scene {
        let ahead = self.0.clone();
        Scene::new(Arc::new(MemoryLine::with_clock(Arc::new(move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
            let micros = u64::try_from(now.as_micros()).expect("not that late");
            micros + ahead.load(Ordering::SeqCst) * 1_000_000
        }))))
    }
}

impl Scene {
    async fn is_written(&self, shelf: &Shelf, id: EntryId) -> bool {
        self.backup.entry(shelf, id).await.expect("an answer").is_some()
    }
}

/// Finds an entry whose shard is below the given one, or is not, depending on `below`.
fn visitor_of(queue: &QueueId, shard: u8, below: bool) -> EntryId {
    let mut ids = (0..).map(|n| id(queue, &format!("visitor {n}")));
    ids.find(|id| (id.shard() < shard) == below)
        .expect("there is one")
}

#[tokio::test]
async fn what_a_killed_function_did_not_write_is_written_by_one_of_two_promoters() {
    let ahead = Ahead::default();
    let scene = ahead.scene();
    let (queue, shelf) = scene.queue("q", json!({ "paused": true })).await;
    scene.enter(&shelf, "ada").await;
    let bob = id(&queue, "bob");
    scene.line.enter(&queue, bob).await.expect("entered");
    ahead.pass_seconds(301);
    let written = Written::default();
    let [one, other] = [scene.reporter(&written), scene.reporter(&written)];
    let mended = async || until(async || !written.values(MENDED).is_empty()).await;
    tokio::join!(one.run(mended()), other.run(mended()));
    assert!(scene.is_written(&shelf, bob).await);
    assert_eq!(
        written.values(MENDED),
        [1],
        "one of the two promoters took the turn"
    );
    assert!(written.values(CHECK_AGE)[0] >= 300_000);
    ahead.pass_seconds(60);
    let order = ReportOrder {
        every_ms: 1,
        idle_ms: 1,
    };
    let reported = scene.line.report(&queue, order).await.expect("answered");
    assert!(
        matches!(&reported, Reported::Due(report) if (60_000..200_000).contains(&report.check_age_ms)),
        "{reported:?}"
    );
}

#[tokio::test]
async fn a_check_that_was_cut_off_goes_on_where_it_stopped() {
    let ahead = Ahead::default();
    let scene = ahead.scene();
    let (queue, shelf) = scene.queue("q", json!({ "paused": true })).await;
    let (early, late) = (visitor_of(&queue, 20, true), visitor_of(&queue, 20, false));
    for id in [early, late] {
        scene.line.enter(&queue, id).await.expect("entered");
    }
    ahead.pass_seconds(301);
    // Another process has checked the first twenty shards and was then stopped.
    let order = CheckOrder {
        every_ms: 300_000,
        idle_ms: 300_000,
        silent_ms: 60_000,
    };
    let turn = scene.line.take_check(&queue, order).await.expect("an answer");
    assert_eq!(turn, CheckTurn::Due { from_shard: 0 });
    scene.line.note_check(&queue, 20).await.expect("noted");
    ahead.pass_seconds(61);
    let written = Written::default();
    let mended = async |times| until(async || written.values(MENDED).len() == times).await;
    scene.reporter(&written).run(mended(1)).await;
    assert!(scene.is_written(&shelf, late).await);
    assert!(
        !scene.is_written(&shelf, early).await,
        "the check did not start over"
    );
    ahead.pass_seconds(301);
    scene.reporter(&written).run(mended(2)).await;
    assert!(
        scene.is_written(&shelf, early).await,
        "the next check starts over"
    );
    assert_eq!(written.values(MENDED), [1, 1]);
}
