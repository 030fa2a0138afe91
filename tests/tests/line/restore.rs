//! Restoring a queue that the line lost.

use std::{collections::HashMap, time::Duration};

use vestibule_domain::{
    change::{Change, EndReason},
    configuration::Configuration,
    entry_status::EntryStatus,
    id::EntryId,
    kept_times::KeptTimes,
    record::{EntryRecord, PutDecision, PutRules},
    settings::Settings,
    state::EntryState,
};
use vestibule_line::{
    ConfigureOutcome, EntryLookup, LeaveReason, RaiseWatermarkOutcome, RestoredEntries, ValidateOutcome,
    Validation,
};
use vestibule_tests::lines::{Subject, configuration, fresh_queue, visitor};

use crate::{
    missing::{expect_end_reason, unknown},
    settings::{in_turn, three_a_second},
};

/// The default settings on which writes to the backup depend.
pub(crate) const PUT_RULES: PutRules = PutRules {
    grace_seconds: 600,
    retain_hours: 24,
};

/// The entries that the backup holds after these changes.
pub(crate) fn restored_entries(changes: &[Change]) -> RestoredEntries {
    let mut records: HashMap<EntryId, EntryRecord> = HashMap::new();
    for change in changes {
        if let PutDecision::Store(record) | PutDecision::FillGaps(record) =
            EntryRecord::decide_put(records.get(&change.id), change, PUT_RULES)
        {
            records.insert(change.id, record);
        }
    }
    records.values().collect()
}

/// Opens the queue so that visitors 1 and 2 are active, 3 completed, 4 to 6 are ready, 7 left, and 8 to 40 wait.
/// Returns all changes in the order of their versions.
async fn open_with_every_state(subject: &mut Subject) -> Vec<Change> {
    subject.open(in_turn(three_a_second())).await;
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
    changes
}

pub(crate) async fn a_restore_brings_back_every_live_entry(mut subject: Subject) {
    let changes = open_with_every_state(&mut subject).await;
    let before = subject.view().await;
    let active = subject.status(visitor(1)).await;

    // A new queue stands for the one that the line lost. It gets what the backup holds, and its clock is
    // behind.
    subject.advance_seconds(30);
    let mut rebuilt = subject.open_sibling(in_turn(three_a_second())).await;
    rebuilt.queue = fresh_queue();
    rebuilt.clock.set_back(Duration::from_secs(3));
    let mut configuration = configuration(&rebuilt.settings);
    configuration.epoch = 2;
    let restored = rebuilt
        .line
        .restore(&rebuilt.queue, &configuration, 0, restored_entries(&changes))
        .await;
    assert_eq!(restored.expect("restore"), ConfigureOutcome::Created);

    let now_ms = rebuilt.clock.now_ms();
    let view = rebuilt.view().await;
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
    assert!(
        view.version > before.version,
        "versions continue above the highest one"
    );
    for number in 8..=40 {
        let (old, new) = (
            subject.status(visitor(number)).await,
            rebuilt.status(visitor(number)).await,
        );
        assert_eq!(new, old, "visitor {number} keeps the old place");
    }
    for number in 4..=6 {
        let ready = EntryStatus::Ready {
            visit: rebuilt.status(visitor(number)).await.visit(),
            claim_by_ms: now_ms + 60_000,
            now_ms,
        };
        assert_eq!(
            rebuilt.status(visitor(number)).await,
            ready,
            "the claim time of visitor {number} starts rebuilt"
        );
        assert_eq!(subject.status(visitor(number)).await.visit(), ready.visit());
    }
    match (active, rebuilt.status(visitor(1)).await) {
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
            rebuilt.lookup(visitor(number)).await,
            EntryLookup::NotFound(unknown(&rebuilt))
        );
    }
    // No entry is promoted at once, the line continues where it was, and new entries are behind all others.
    assert_eq!(rebuilt.tick().await.promoted, 0);
    let newcomer = rebuilt.enter(visitor(41)).await;
    assert_eq!(newcomer.status.state(), EntryState::Waiting);
    assert_eq!(rebuilt.position(visitor(41)).await, 34);
    let version = newcomer.change.expect("new").version;
    assert!(version.epoch == 2 && changes.iter().all(|change| change.version < version));
    rebuilt.advance_seconds(1);
    assert_eq!(rebuilt.tick().await.promoted, 3);
    for number in 8..=10 {
        assert_eq!(rebuilt.state(visitor(number)).await, EntryState::Ready);
    }
}

/// The configuration of the subject in this epoch.
pub(crate) fn configuration_of_epoch(subject: &Subject, epoch: u32) -> Configuration {
    Configuration {
        epoch,
        ..configuration(&subject.settings)
    }
}

/// Restores the queue from a backup that holds no entry.
pub(crate) async fn restore_empty(subject: &Subject, configuration: &Configuration, watermark: u64) {
    let no_entries = RestoredEntries::default();
    let restored = subject
        .line
        .restore(&subject.queue, configuration, watermark, no_entries)
        .await;
    assert_eq!(restored.expect("restore"), ConfigureOutcome::Created);
}

pub(crate) async fn the_watermark_reveals_a_stale_line(mut subject: Subject) {
    subject.open(three_a_second()).await;
    let raise_watermark = async |epoch, watermark| {
        let outcome = subject
            .line
            .raise_watermark(&subject.queue, epoch, watermark)
            .await;
        outcome.expect("raise_watermark")
    };
    assert_eq!(raise_watermark(1, 0).await, RaiseWatermarkOutcome::Raised(1));
    assert_eq!(
        raise_watermark(1, 1).await,
        RaiseWatermarkOutcome::Unchanged,
        "the line did not change since"
    );
    subject.enter(visitor(1)).await;
    // A caller that read the watermark before another raised it is right as well.
    assert_eq!(raise_watermark(1, 0).await, RaiseWatermarkOutcome::Raised(2));
    assert_eq!(raise_watermark(2, 0).await, RaiseWatermarkOutcome::OtherEpoch);
    subject.enter(visitor(2)).await;
    assert_eq!(raise_watermark(1, 3).await, RaiseWatermarkOutcome::StaleLine);
    assert_eq!(
        raise_watermark(1, 3).await,
        RaiseWatermarkOutcome::StaleLine,
        "a stale line stays stale"
    );
    restore_empty(&subject, &configuration_of_epoch(&subject, 2), 3).await;
    assert_eq!(raise_watermark(2, 3).await, RaiseWatermarkOutcome::Raised(4));
}

pub(crate) async fn a_pass_from_before_a_restore_reactivates_until_its_end(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up(1..=5).await;
    assert_eq!(subject.tick().await.promoted, 3);
    let end_ms = subject.clock.now_ms() + 40_000;
    let check = |end_ms| Validation {
        visit: None,
        claims: false,
        consumes: false,
        use_id: None,
        reactivate_until_ms: Some(end_ms),
    };
    let validate = async |number, end_ms| {
        let validated = subject
            .line
            .validate(&subject.queue, visitor(number), check(end_ms));
        validated.await.expect("validate")
    };
    let expired = validate(4, subject.clock.now_ms()).await;
    assert!(matches!(expired, ValidateOutcome::NotActive(_)), "{expired:?}");
    for number in [1, 5] {
        let visit = subject.status(visitor(number)).await.visit();
        let ValidateOutcome::Active {
            status,
            change: Some(change),
        } = validate(number, end_ms).await
        else {
            panic!("visitor {number} is not active");
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
    assert_eq!(expect_end_reason(&subject, 5).await, EndReason::Expired);
}

pub(crate) async fn a_restore_honours_what_longer_settings_have_given_out(mut subject: Subject) {
    let settings = Settings {
        pass_seconds: 2,
        claim_seconds: 10,
        ..three_a_second()
    };
    let changes = open_with_every_state(&mut subject).await;
    let mut rebuilt = subject.open_sibling(in_turn(settings)).await;
    rebuilt.queue = fresh_queue();
    let now_ms = rebuilt.clock.now_ms();
    let kept_times = KeptTimes {
        passes_until_ms: now_ms + 44_000,
        claim_floor_ms: 60_000,
        claim_floor_until_ms: now_ms + 30_000,
        ..KeptTimes::default()
    };
    let configuration = Configuration {
        epoch: 2,
        kept_times,
        ..configuration(&rebuilt.settings)
    };
    let restored = rebuilt
        .line
        .restore(&rebuilt.queue, &configuration, 0, restored_entries(&changes))
        .await;
    assert_eq!(restored.expect("restore"), ConfigureOutcome::Created);
    assert_eq!(rebuilt.view().await.configuration, configuration);

    let left = rebuilt.leave(visitor(1), LeaveReason::Leave).await;
    assert_eq!(left.fact().step_ms, kept_times.passes_until_ms);
    let claim_ms = async |rebuilt: &Subject, number| match rebuilt.status(visitor(number)).await {
        EntryStatus::Ready {
            claim_by_ms, now_ms, ..
        } => claim_by_ms - now_ms,
        other => panic!("{other:?}"),
    };
    rebuilt.advance_seconds(1);
    rebuilt.tick().await;
    assert_eq!(claim_ms(&rebuilt, 8).await, 60_000);
    rebuilt.advance_seconds(30);
    rebuilt.tick().await;
    assert_eq!(claim_ms(&rebuilt, 11).await, 10_000);
}
