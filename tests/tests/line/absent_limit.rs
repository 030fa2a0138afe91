//! The limit of the absent entries: the longest absences end first.

use std::collections::BTreeSet;

use vestibule_domain::{change::EndReason, settings::Settings};
use vestibule_line::EntryLookup;
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    missing::expect_end_reason,
    presence::{CALL_SECONDS, check_in, counts, make_room, run_seconds, wait_in_full_queue},
    settings::bounded,
};

/// The visitors among these whose absences have not ended.
async fn still_absent(subject: &Subject, numbers: impl IntoIterator<Item = u64>) -> BTreeSet<u64> {
    let mut still = BTreeSet::new();
    for number in numbers {
        let found = subject.line.status(&subject.queue, visitor(number)).await;
        if let EntryLookup::Found(_) = found.expect("status") {
            still.insert(number);
        }
    }
    still
}

pub(crate) async fn the_longest_absences_end_beyond_the_absent_limit(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 10, &[], CALL_SECONDS + 1).await;
    make_room(&mut subject).await;
    subject.change_settings(|settings| settings.capacity = 1).await;
    assert_eq!(counts(&subject).await, (0, 0, 10), "the first ten are absent");
    run_seconds(&subject, 150, &[]).await;
    // Two of them were here later than the others. They are absent again.
    check_in(&subject, 3).await;
    run_seconds(&subject, 60, &[]).await;
    check_in(&subject, 7).await;
    run_seconds(&subject, 150, &[]).await;
    // Five others are passed over after that.
    subject.line_up_silently(11..=15).await;
    run_seconds(&subject, CALL_SECONDS + 1, &[]).await;
    subject.change_settings(|settings| settings.capacity = 2).await;
    run_seconds(&subject, 90, &[]).await;
    assert_eq!(counts(&subject).await, (0, 0, 15));
    subject.change_settings(|settings| settings.capacity = 1).await;
    run_seconds(&subject, 70, &[]).await;

    let mut limits = Vec::new();
    for limit in [12, 7, 6, 5, 2] {
        subject
            .change_settings(|settings| settings.absent_limit = limit)
            .await;
        subject.advance_seconds(1);
        let tick = subject.tick().await;
        limits.push((limit, tick.absences));
        assert_eq!(counts(&subject).await, (0, 0, limit.into()));
        let still = still_absent(&subject, 1..=15).await;
        let expected: BTreeSet<u64> = match limit {
            // Within the same mark, the places decide.
            12 => [3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15].into(),
            7 => [3, 7, 11, 12, 13, 14, 15].into(),
            6 => [7, 11, 12, 13, 14, 15].into(),
            5 => [11, 12, 13, 14, 15].into(),
            _ => [14, 15].into(),
        };
        assert_eq!(still, expected, "at most {limit}");
    }
    assert_eq!(limits, [(12, 3), (7, 5), (6, 1), (5, 1), (2, 3)]);
    assert_eq!(expect_end_reason(&subject, 1).await, EndReason::Absence);
    assert_eq!(
        subject.unsettled_ends().await.len(),
        13,
        "the backup gets them through the journal"
    );
    let view = subject.view().await;
    assert_eq!(view.imbalance.visits, view.imbalance.at_check);
}

pub(crate) async fn a_tick_ends_a_bounded_number_of_absences(mut subject: Subject) {
    const ABSENT: u64 = 2_600;
    subject
        .open(Settings {
            session_seconds: 7_200,
            session_max_seconds: 7_200,
            ..bounded(1, 10, 1)
        })
        .await;
    subject.enter(visitor(ABSENT + 1)).await;
    subject.line_up_silently(1..=ABSENT).await;
    run_seconds(&subject, CALL_SECONDS + 1, &[]).await;
    subject.change_settings(|settings| settings.capacity = 2).await;
    run_seconds(&subject, 300, &[]).await;
    assert_eq!(counts(&subject).await, (0, 0, ABSENT));
    subject
        .change_settings(|settings| settings.queue_limit = 100)
        .await;
    let mut ended = Vec::new();
    for _ in 0..4 {
        subject.advance_seconds(1);
        let tick = subject.tick().await;
        ended.push((tick.absences, tick.has_more));
    }
    // Without a limit of their own, as many may be absent as wait.
    assert_eq!(ended, [(1_000, true), (1_000, true), (500, false), (0, false)]);
    assert_eq!(still_absent(&subject, ABSENT - 100..=ABSENT).await.len(), 100);
}
