//! A move to another lane survives the loss of the line.

use vestibule_domain::{
    change::Change,
    record::{EntryRecord, PutDecision},
    state::EntryState,
};
use vestibule_line::{AdoptBasis, AdoptOrder, AdoptOutcome, RestoredEntries};
use vestibule_tests::lines::{Subject, fresh_queue, visitor};

use crate::{
    adopt::adopt_as_unknown,
    lane_moves::{expect_move, strict},
    restore::{configuration_of_epoch, restored_entries},
};

/// A line that lost the move, as after a failover, and a line that lost everything.
pub(crate) async fn a_moved_entry_stays_moved_after_a_loss(mut subject: Subject) {
    subject.open(strict(1)).await;
    subject.change_settings(|settings| settings.paused = true).await;
    let mut changes = Vec::new();
    for number in 1..=4 {
        changes.extend(subject.enter(visitor(number)).await.change);
    }
    let unmoved = restored_entries(&changes);
    let (place, _, change) = expect_move(&subject, 3, 0).await;
    changes.push(change);
    subject.change_settings(|settings| settings.paused = false).await;

    // The new primary lacks the move. The next request about the entry brings it back.
    let stale = restore_as_sibling(&subject, unmoved).await;
    assert_eq!(stale.place(visitor(3)).await.lane(), 4);
    let record = restored_record(&changes, 3);
    let order = AdoptOrder {
        id: visitor(3),
        generation: 1,
        record: Some(record),
        basis: AdoptBasis::Known,
    };
    let adopted = stale.line.adopt(&stale.queue, &order).await.expect("adopted");
    assert!(
        matches!(
            adopted,
            AdoptOutcome::Live {
                has_adopted: true,
                ..
            }
        ),
        "{adopted:?}"
    );
    assert_eq!(stale.place(visitor(3)).await, place);

    // Everything is lost and restored from the backup.
    let restored = restore_as_sibling(&subject, restored_entries(&changes)).await;
    assert_eq!(restored.place(visitor(3)).await, place);
    let again = restored
        .enter(visitor(3))
        .await
        .change
        .expect("a repeated change");
    assert_eq!(again.event, change.event);
    restored.advance_seconds(1);
    restored.tick().await;
    assert_eq!(
        restored.state(visitor(3)).await,
        EntryState::Ready,
        "before those who joined before"
    );

    // One entry is lost, and the visitor's next request brings it back.
    let empty = restore_as_sibling(&subject, RestoredEntries::default()).await;
    adopt_as_unknown(&empty, 3, restored_record(&changes, 3)).await;
    assert_eq!(empty.place(visitor(3)).await, place);
}

async fn restore_as_sibling(subject: &Subject, entries: RestoredEntries) -> Subject {
    let mut other = subject.sibling();
    other.queue = fresh_queue();
    other.settings = subject.settings.clone();
    let epoch_2 = configuration_of_epoch(subject, 2);
    other
        .line
        .restore(&other.queue, &epoch_2, 0, entries)
        .await
        .expect("restored");
    other
}

fn restored_record(changes: &[Change], number: u64) -> EntryRecord {
    let own = changes.iter().filter(|change| change.id == visitor(number));
    let mut record = None;
    for change in own {
        if let PutDecision::Store(after) | PutDecision::FillGaps(after) =
            EntryRecord::decide_put(record.as_ref(), change, crate::restore::PUT_RULES)
        {
            record = Some(after);
        }
    }
    record.expect("the entry has a record")
}
