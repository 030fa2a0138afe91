//! What comes back after the line lost a queue.

use std::{collections::HashMap, time::Duration};

use vestibule_domain::{
    change::Change, entry_status::EntryStatus, id::EntryId, record::EntryRecord, state::EntryState,
};
use vestibule_line::{
    Configuration, ConfigureOutcome, EntryLookup, LeaveReason, NotFound, RaiseWatermarkOutcome,
    RestoredEntries, ValidateOutcome, Validation,
};
use vestibule_tests::lines::{Subject, configuration, fresh_queue, visitor};

use crate::settings::three_at_a_time;

/// What the backup holds after these changes.
pub(crate) fn places(changes: &[Change]) -> RestoredEntries {
    let mut records: HashMap<EntryId, EntryRecord> = HashMap::new();
    for change in changes {
        if let Some(record) = EntryRecord::apply_change(records.get(&change.id), change, 24) {
            records.insert(change.id, record);
        }
    }
    records.values().collect()
}

pub(crate) async fn a_restore_brings_everybody_back(mut subject: Subject) {
    // A queue with visitors in every state: 1 and 2 are active, 3 completed, 4 to 6 ready, 7 gone, 8 to 40 waiting.
    subject.open(three_at_a_time()).await;
    subject.change_settings(|settings| settings.paused = true).await;
    let mut changes = Vec::new();
    for number in 1..=40 {
        changes.extend(subject.enter(visitor(number)).await.change);
        if number % 5 == 0 {
            subject.advance_ms(1);
        }
    }
    subject.change_settings(|settings| settings.paused = false).await;
    changes.push(subject.leave(visitor(7), LeaveReason::Leave).await);
    subject.tick().await;
    for number in 1..=3 {
        changes.push(subject.claim(visitor(number)).await.1);
    }
    changes.push(subject.leave(visitor(3), LeaveReason::Complete).await);
    subject.advance_seconds(1);
    subject.tick().await;
    for record in subject.journal().await {
        changes.extend(record.changes);
    }
    changes.sort_by_key(|change| change.version);
    let before = subject.view().await;
    let active = subject.status(visitor(1)).await;

    // The line lost it: a queue that it does not have gets what the backup holds. The clock is behind, too.
    subject.advance_seconds(30);
    let mut again = subject.open_sibling(three_at_a_time()).await;
    again.queue = fresh_queue();
    again.clock.set_back(Duration::from_secs(3));
    let mut configuration = configuration(&again.settings);
    configuration.epoch = 2;
    let restored = again
        .line
        .restore(&again.queue, &configuration, 0, places(&changes))
        .await;
    assert_eq!(restored.expect("restore"), ConfigureOutcome::Created);

    let now_ms = again.clock.now_ms();
    let view = again.view().await;
    assert_eq!(
        (view.waiting, view.ready, view.active, view.unsettled_ends),
        (33, 3, 2, 0)
    );
    assert_eq!(
        (view.waiting, view.ready, view.active),
        (before.waiting, before.ready, before.active)
    );
    assert_eq!((view.journal_len, view.bucket.credit), (0, 0));
    assert_eq!(view.configuration, configuration);
    assert!(view.version > before.version, "changes go on from the highest");
    for number in 8..=40 {
        let (old, new) = (
            subject.status(visitor(number)).await,
            again.status(visitor(number)).await,
        );
        assert_eq!(new, old, "visitor {number} has the old place");
    }
    for number in 4..=6 {
        let ready = EntryStatus::Ready {
            visit: again.status(visitor(number)).await.visit(),
            claim_by_ms: now_ms + 60_000,
            now_ms,
        };
        assert_eq!(
            again.status(visitor(number)).await,
            ready,
            "visitor {number} has the time to claim anew"
        );
        assert_eq!(subject.status(visitor(number)).await.visit(), ready.visit());
    }
    match (active, again.status(visitor(1)).await) {
        (
            EntryStatus::Active {
                visit,
                session_end_ms,
                ..
            },
            new,
        ) => assert_eq!(
            new,
            EntryStatus::Active {
                visit,
                session_end_ms,
                now_ms
            }
        ),
        other => panic!("{other:?}"),
    }
    for number in [3, 7] {
        assert_eq!(
            again.lookup(visitor(number)).await,
            EntryLookup::NotFound(NotFound::Unknown)
        );
    }
    // Nobody is let in at once, the line goes on where it was, and newcomers are behind everybody.
    assert_eq!(again.tick().await.promoted, 0);
    let newcomer = again.enter(visitor(41)).await;
    assert_eq!(newcomer.status.state(), EntryState::Waiting);
    assert_eq!(again.position(visitor(41)).await, 34);
    let version = newcomer.change.expect("new").version;
    assert!(version.epoch == 2 && changes.iter().all(|change| change.version < version));
    again.advance_seconds(1);
    assert_eq!(again.tick().await.promoted, 3);
    for number in 8..=10 {
        assert_eq!(again.state(visitor(number)).await, EntryState::Ready);
    }
}

/// The configuration of the subject in another epoch.
pub(crate) fn of_epoch(subject: &Subject, epoch: u32) -> Configuration {
    Configuration {
        epoch,
        ..configuration(&subject.settings)
    }
}

pub(crate) async fn a_restore_leaves_a_queue_of_its_epoch_or_a_later_one_alone(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    subject.line_up([1, 2]).await;
    let mut changes = Vec::new();
    let other = subject.open_sibling(three_at_a_time()).await;
    for number in 5..=9 {
        changes.extend(other.enter(visitor(number)).await.change);
    }
    let restore = async |epoch| {
        let configuration = of_epoch(&subject, epoch);
        let restored = subject
            .line
            .restore(&subject.queue, &configuration, 0, places(&changes));
        restored.await.expect("restore")
    };
    let view = subject.view().await;
    assert_eq!(restore(1).await, ConfigureOutcome::Unchanged);
    assert_eq!(restore(0).await, ConfigureOutcome::Superseded);
    assert_eq!(subject.view().await, view);
    assert_eq!(subject.expect_not_found(visitor(9)).await, NotFound::Unknown);
    assert_eq!(subject.position(visitor(2)).await, 2);

    // A later one takes its place.
    assert_eq!(restore(7).await, ConfigureOutcome::Created);
    assert_eq!(subject.expect_not_found(visitor(2)).await, NotFound::Unknown);
    assert_eq!(subject.view().await.active, 3);
    assert_eq!(subject.position(visitor(9)).await, 2);
}

pub(crate) async fn a_line_that_came_back_old_is_known_by_its_mark(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    let mark = async |epoch, fence| {
        let marked = subject.line.raise_watermark(&subject.queue, epoch, fence).await;
        marked.expect("mark")
    };
    assert_eq!(mark(1, 0).await, RaiseWatermarkOutcome::Raised(1));
    assert_eq!(
        mark(1, 1).await,
        RaiseWatermarkOutcome::Unchanged,
        "nothing has happened since"
    );
    subject.enter(visitor(1)).await;
    // Whoever read the fence before somebody else raised it is right as well.
    assert_eq!(mark(1, 0).await, RaiseWatermarkOutcome::Raised(2));
    assert_eq!(mark(2, 0).await, RaiseWatermarkOutcome::OtherEpoch);
    subject.enter(visitor(2)).await;
    assert_eq!(mark(1, 3).await, RaiseWatermarkOutcome::StaleLine);
    assert_eq!(mark(1, 3).await, RaiseWatermarkOutcome::StaleLine, "and stays so");
    let configuration = of_epoch(&subject, 2);
    let put_back = subject
        .line
        .restore(&subject.queue, &configuration, 3, RestoredEntries::default());
    assert_eq!(put_back.await.expect("restore"), ConfigureOutcome::Created);
    assert_eq!(mark(2, 3).await, RaiseWatermarkOutcome::Raised(4));
}

pub(crate) async fn a_pass_of_before_lets_in_again_until_its_end(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    subject.line_up(1..=5).await;
    assert_eq!(subject.tick().await.promoted, 3);
    let end_ms = subject.clock.now_ms() + 40_000;
    let check = |end_ms| Validation {
        visit: None,
        claims: false,
        consumes: false,
        reactivate_until_ms: Some(end_ms),
    };
    let validate = async |number, end_ms| {
        let validated = subject
            .line
            .validate(&subject.queue, visitor(number), check(end_ms));
        validated.await.expect("validate")
    };
    let over = validate(4, subject.clock.now_ms()).await;
    assert!(matches!(over, ValidateOutcome::NotActive(_)), "{over:?}");
    for number in [1, 5] {
        let visit = subject.status(visitor(number)).await.visit();
        let ValidateOutcome::Active {
            status,
            change: Some(change),
        } = validate(number, end_ms).await
        else {
            panic!("visitor {number} is not let in");
        };
        let now_ms = subject.clock.now_ms();
        let expected = EntryStatus::Active {
            visit,
            session_end_ms: end_ms,
            now_ms,
        };
        assert_eq!(
            (status, subject.status(visitor(number)).await),
            (expected, expected)
        );
        assert_eq!(change.event.state(), EntryState::Active);
    }
    let view = subject.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (1, 2, 2));
    subject.advance_seconds(40);
    subject.tick().await;
    assert_eq!(
        subject.expect_not_found(visitor(5)).await,
        NotFound::RecentlyEnded
    );
}

/// A visitor who came and went in a line whose clock was ahead, and the same line put back with the right time: the end, and the
/// line.
pub(crate) async fn put_back_behind(mut subject: Subject) -> (Subject, Change) {
    subject.open(three_at_a_time()).await;
    subject.enter(visitor(1)).await;
    let end = subject.leave(visitor(1), LeaveReason::Leave).await;
    subject.clock.set_back(Duration::from_mins(1));
    assert!(subject.line.drop_queue(&subject.queue, 2).await.expect("forget"));
    let configuration = of_epoch(&subject, 2);
    let put_back = subject
        .line
        .restore(&subject.queue, &configuration, 0, RestoredEntries::default());
    assert_eq!(put_back.await.expect("restore"), ConfigureOutcome::Created);
    let version = subject.view().await.version;
    assert!(version > end.version && version.v < end.version.v, "{version:?}");
    (subject, end)
}

pub(crate) async fn an_end_of_an_epoch_before_settles_no_later_one(subject: Subject) {
    let (subject, first) = put_back_behind(subject).await;
    subject.enter(visitor(1)).await;
    let second = subject.leave(visitor(1), LeaveReason::Leave).await;
    let settle = async |end: &Change| {
        let ending = end.visit_end().expect("an end");
        let settled = subject.line.acknowledge(&subject.queue, &[], &[ending]).await;
        settled.expect("settle");
        subject
            .line
            .unsettled_end(&subject.queue, visitor(1))
            .await
            .expect("end")
    };
    assert_eq!(settle(&first).await, Some(second), "the backup may not have it");
    assert_eq!(settle(&second).await, None);
    // One of a later epoch comes after all of those before, whatever the clocks said.
    subject.enter(visitor(1)).await;
    let mut third = subject.leave(visitor(1), LeaveReason::Leave).await;
    third.version = vestibule_domain::change::Version { epoch: 3, v: 1 };
    assert_eq!(settle(&third).await, None);
}
