//! The tally counts what happened since the generation began, and goes on after a restore.

use futures_util::future::join_all;
use vestibule_domain::{
    change::Version,
    fact::{Fact, Step},
    record::EntryRecord,
    settings::Settings,
    tally::{PeakWaiting, QueueTotals, Tally, TallySnapshot},
};
use vestibule_line::{
    ExtendOutcome, LeaveReason, RestoredEntries, SessionExtension, ValidateOutcome, Validation,
};
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::{
    adopt::{adopt_as_unknown, live_record, place_before},
    restore::{configuration_of_epoch, restored_entries},
    settings::{bounded, in_turn},
};

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

/// How many stays are counted, their sum and the longest one, in seconds.
async fn stays(subject: &Subject) -> (u64, u64, u64) {
    let stays = read_tally(subject).await.tally.stays;
    (stays.count(), stays.sum_ms() / 1_000, stays.max_ms() / 1_000)
}

/// Completes a visit for the protected service, which is the first to claim it.
async fn consume(subject: &Subject, number: u64) {
    let once = Validation {
        visit: None,
        claims: true,
        consumes: true,
        use_id: None,
        reactivate_until_ms: None,
    };
    let consumed = subject.line.validate(&subject.queue, visitor(number), once).await;
    assert!(
        matches!(consumed, Ok(ValidateOutcome::Active { .. })),
        "{consumed:?}"
    );
}

pub(crate) async fn a_session_is_counted_when_it_ends_in_whatever_way(mut subject: Subject) {
    let settings = Settings {
        session_seconds: 600,
        claim_seconds: 120,
        ..in_turn(bounded(100, 8, 1))
    };
    subject.open(settings).await;
    // The first one is let in by the fast track, the others in turn.
    subject.enter(visitor(1)).await;
    subject
        .change_settings(|settings| settings.fast_track = false)
        .await;
    for number in 2..=8 {
        subject.enter(visitor(number)).await;
    }
    subject.tick().await;
    subject.advance_seconds(20);
    for number in 2..=7 {
        subject.claim(visitor(number)).await;
    }
    // A claim that is repeated, as a client does without an answer, begins no new session.
    subject.advance_seconds(10);
    subject.claim(visitor(2)).await;
    subject.claim(visitor(1)).await;
    assert_eq!(stays(&subject).await, (0, 0, 0));
    subject.leave(visitor(2), LeaveReason::Complete).await;
    assert_eq!(stays(&subject).await, (1, 10, 10));
    subject.leave(visitor(3), LeaveReason::Leave).await;
    subject.leave(visitor(4), LeaveReason::Evict).await;
    assert_eq!(stays(&subject).await, (3, 30, 10));
    subject.leave(visitor(1), LeaveReason::Leave).await;
    assert_eq!(
        stays(&subject).await,
        (4, 60, 30),
        "by the fast track, since it entered"
    );

    // The service completes 5, lets 6 stay 300 s longer, and completes 8, who had not claimed yet, at once.
    subject.advance_seconds(30);
    consume(&subject, 5).await;
    assert_eq!(stays(&subject).await, (5, 100, 40));
    consume(&subject, 8).await;
    assert_eq!(stays(&subject).await, (6, 100, 40));
    subject.advance_seconds(540);
    let longer = SessionExtension {
        visit: None,
        seconds: 300,
        latest_end_ms: subject.clock.now_ms() + 300_000,
    };
    let extended = subject.line.extend(&subject.queue, visitor(6), longer).await;
    assert!(
        matches!(extended, Ok(ExtendOutcome::Active { .. })),
        "{extended:?}"
    );
    // The session of 7 is over after 600 s, however late the tick sees it, and that of 6 after 880.
    subject.advance_seconds(45);
    subject.tick().await;
    assert_eq!(stays(&subject).await, (7, 700, 600));
    subject.advance_seconds(900);
    // A visitor who enters again before a tick ends the session, too.
    subject.enter(visitor(6)).await;
    assert_eq!(stays(&subject).await, (8, 1_580, 880));
    subject.tick().await;
    assert_eq!(stays(&subject).await, (8, 1_580, 880));
    // A visitor who leaves the line had no session.
    subject.leave(visitor(6), LeaveReason::Leave).await;
    assert_eq!(stays(&subject).await.0, 8);
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

pub(crate) async fn a_session_is_counted_from_its_beginning_after_a_loss(mut subject: Subject) {
    subject.open(bounded(100, 4, 1)).await;
    let admitted = subject.enter(visitor(1)).await.change.expect("a change");
    // Redis lost another one, whom the backup has.
    let now_ms = subject.clock.now_ms();
    let session = Fact {
        visit: place_before(&subject, 70_000).visit(),
        step: Step::Active,
        step_ms: now_ms + 60_000,
        is_over: false,
    };
    let record = EntryRecord {
        claimed_at_ms: Some(now_ms - 60_000),
        ..live_record(&subject, 2, session).await
    };
    adopt_as_unknown(&subject, 2, record).await;
    subject.leave(visitor(2), LeaveReason::Complete).await;
    assert_eq!(stays(&subject).await, (1, 60, 60));

    subject.advance_seconds(40);
    let mut entries = restored_entries(&[admitted]);
    entries.tally = read_tally(&subject).await.tally;
    let configuration = configuration_of_epoch(&subject, 2);
    let restored = subject.line.restore(&subject.queue, &configuration, 0, entries);
    restored.await.expect("restore");
    subject.advance_seconds(5);
    subject.leave(visitor(1), LeaveReason::Complete).await;
    assert_eq!(stays(&subject).await, (2, 105, 60));
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
