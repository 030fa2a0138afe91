//! The tally counts what happened since the generation began, and goes on after a restore.

use futures_util::future::join_all;
use vestibule_domain::{
    change::Version,
    tally::{PeakWaiting, QueueTotals, Tally, TallySnapshot},
};
use vestibule_line::{LeaveReason, RestoredEntries};
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::settings::{bounded, in_turn};

const EVERY_MS: u64 = 5_000;

async fn read_tally(subject: &Subject) -> TallySnapshot {
    subject.line.read_tally(&subject.queue).await.expect("read_tally")
}

async fn take_tally(subject: &Subject) -> Option<TallySnapshot> {
    let taken = subject.line.take_tally(&subject.queue, EVERY_MS).await;
    taken.expect("take_tally")
}

async fn acknowledge_tally(subject: &Subject, version: Version) {
    let acknowledged = subject.line.acknowledge_tally(&subject.queue, version).await;
    acknowledged.expect("acknowledge_tally");
}

/// Opens a queue that promotes four at a time, in which ten visitors wait.
async fn open_with_ten_waiting(subject: &mut Subject) {
    subject.open(bounded(100, 4, 10)).await;
    subject.line_up(1..=10).await;
}

pub(crate) async fn a_tally_counts_totals_waits_and_the_peak(mut subject: Subject) {
    open_with_ten_waiting(&mut subject).await;
    let began_ms = subject.clock.now_ms();
    assert_eq!(read_tally(&subject).await.tally.waits.count(), 0);
    subject.advance_seconds(2);
    subject.tick().await; // Visitors 1 to 4 are ready after 2 s.
    subject.claim(visitor(1)).await;
    subject.leave(visitor(10), LeaveReason::Leave).await;
    subject.advance_seconds(10);
    subject.tick().await; // Visitors 5 to 8 are ready after 12 s.

    let snapshot = read_tally(&subject).await;
    let view = subject.view().await;
    assert_eq!(snapshot.version, view.version);
    assert_eq!(snapshot.at_ms, view.now_ms);
    assert!(snapshot.is_of(1, view.configuration.salt));
    let totals = QueueTotals {
        entered: 10,
        promoted: 8,
        claimed: 1,
        left: 1,
        ..QueueTotals::default()
    };
    assert_eq!(snapshot.tally.totals, totals);
    let peak = PeakWaiting {
        waiting: 10,
        at_ms: began_ms + 2_000,
    };
    assert_eq!(
        snapshot.tally.peak, peak,
        "the line is shorter at the second tick"
    );
    let waits = &snapshot.tally.waits;
    assert_eq!(
        (waits.count(), waits.max_ms(), waits.sum_ms()),
        (8, 12_000, 56_000)
    );
    let counts: Vec<_> = waits.buckets().map(|bucket| bucket.count).collect();
    assert_eq!(counts, [4, 4]);
    let [short, long] = [25, 90].map(|percent| waits.percentile_ms(percent).expect("a wait"));
    assert!(
        short.abs_diff(2_000) <= 63 && long.abs_diff(12_000) <= 375,
        "{short} {long}"
    );
}

pub(crate) async fn waits_of_any_length_are_in_the_right_bucket(mut subject: Subject) {
    subject.open(in_turn(bounded(100, 1, 1))).await;
    subject.line_up(1..=24).await;
    let began_ms = subject.clock.now_ms();
    let mut waits_ms = Vec::new();
    for doubling in 0..24_u64 {
        // Every bound between two buckets is near a power of two.
        let wait_ms = (1 << doubling) + doubling % 3;
        subject.clock.set_ms(began_ms + wait_ms);
        if subject.tick().await.promoted == 1 {
            waits_ms.push(wait_ms);
        }
    }
    let waits = read_tally(&subject).await.tally.waits;
    assert_eq!(waits.sum_ms(), waits_ms.iter().sum::<u64>());
    let mut buckets = waits.buckets().flat_map(|bucket| {
        let repeated = std::iter::repeat_n(bucket, usize::try_from(bucket.count).expect("a small number"));
        repeated.collect::<Vec<_>>()
    });
    for wait_ms in waits_ms {
        let bucket = buckets.next().expect("a bucket");
        assert!(
            (bucket.from_ms..bucket.below_ms).contains(&wait_ms),
            "{wait_ms}: {bucket:?}"
        );
    }
}

pub(crate) async fn a_tally_is_taken_until_it_is_acknowledged(mut subject: Subject) {
    open_with_ten_waiting(&mut subject).await;
    let taken: Vec<_> = join_all((0..8).map(|_| take_tally(&subject))).await;
    assert_eq!(taken.iter().flatten().count(), 1, "one of many callers gets it");
    assert_eq!(take_tally(&subject).await, None);

    // The caller that took it has failed.
    subject.advance_ms(EVERY_MS);
    let again = take_tally(&subject).await.expect("it is taken again");
    acknowledge_tally(&subject, again.version).await;
    subject.advance_ms(EVERY_MS);
    assert_eq!(take_tally(&subject).await, None, "nothing has changed since");

    subject.leave(visitor(3), LeaveReason::Leave).await;
    let changed = take_tally(&subject).await.expect("the tally has changed");
    assert_eq!(changed.tally.totals.left, 1);
    // A late acknowledgement of the earlier tally, and one of another epoch, do not count for this one.
    acknowledge_tally(&subject, again.version).await;
    let other = Version {
        epoch: 7,
        ..changed.version
    };
    acknowledge_tally(&subject, other).await;
    subject.advance_ms(EVERY_MS);
    assert_eq!(
        take_tally(&subject).await.map(|tally| tally.version),
        Some(changed.version)
    );
}

pub(crate) async fn a_restored_queue_goes_on_with_its_tally(mut subject: Subject) {
    open_with_ten_waiting(&mut subject).await;
    subject.advance_seconds(3);
    subject.tick().await;
    subject.claim(visitor(1)).await;
    let before = read_tally(&subject).await.tally;

    let mut configuration = configuration(&subject.settings);
    configuration.epoch = 2;
    assert!(
        subject
            .line
            .drop_queue(&subject.queue, 2)
            .await
            .expect("drop_queue")
    );
    let entries = RestoredEntries {
        tally: before.clone(),
        ..RestoredEntries::default()
    };
    let restored = subject
        .line
        .restore(&subject.queue, &configuration, 0, entries)
        .await;
    restored.expect("restore");
    let restored = read_tally(&subject).await;
    assert_eq!((restored.tally, restored.version.epoch), (before.clone(), 2));
    // The line itself begins at zero, so its rates and its metrics count no event twice.
    assert_eq!(subject.view().await.totals, QueueTotals::default());

    subject.enter(visitor(20)).await;
    let after = read_tally(&subject).await.tally;
    assert_eq!(after.totals.entered, 11);
    assert_eq!((after.waits, after.peak), (before.waits, before.peak));
}

pub(crate) async fn a_restore_without_a_stored_tally_begins_at_zero(mut subject: Subject) {
    open_with_ten_waiting(&mut subject).await;
    subject.tick().await;
    let mut configuration = configuration(&subject.settings);
    configuration.epoch = 2;
    let restored = subject
        .line
        .restore(&subject.queue, &configuration, 0, RestoredEntries::default())
        .await;
    restored.expect("restore");
    assert_eq!(read_tally(&subject).await.tally, Tally::default());
}
