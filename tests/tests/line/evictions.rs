//! Evictions of many waiting entries: they end once, the others keep their places, and visitors who polled may be spared.

use vestibule_domain::{
    change::{EndReason, Event},
    fact::Fact,
    score::Visit,
    state::EntryState,
};
use vestibule_line::{EvictOrder, JournalLimits, LineError, NotFound, PresenceState, WaitingPresence};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    presence::{
        CALL_SECONDS, PRESENCE_SECONDS, check_in, counts, lane, make_room, run_seconds, wait_in_full_queue,
    },
    settings::bounded,
};

async fn presence(subject: &Subject, number: u64) -> Option<WaitingPresence> {
    let ids = [visitor(number)];
    let found = subject.line.presence_many(&subject.queue, &ids);
    found.await.expect("an answer")[0]
}

async fn order(
    subject: &Subject,
    numbers: impl IntoIterator<Item = u64>,
    spares_checked_in: bool,
) -> EvictOrder {
    let mut visits = Vec::new();
    for number in numbers {
        visits.push((visitor(number), subject.place(visitor(number)).await.visit()));
    }
    EvictOrder {
        visits,
        spares_checked_in,
    }
}

async fn evict(subject: &Subject, order: &EvictOrder) -> u64 {
    let evicted = subject.line.evict_waiting(&subject.queue, order).await;
    evicted.expect("an answer")
}

fn known(state: PresenceState, has_checked_in: bool) -> WaitingPresence {
    WaitingPresence {
        state,
        has_checked_in,
    }
}

pub(crate) async fn only_a_poll_shows_that_a_visitor_was_ever_present(mut subject: Subject) {
    use PresenceState::{Absent, Called, NotCalled, Present};
    wait_in_full_queue(&mut subject, 600, &[], 0).await;
    subject.tick().await;
    assert_eq!(presence(&subject, 1).await, Some(known(Called, false)));
    assert_eq!(presence(&subject, 600).await, Some(known(NotCalled, false)));
    assert_eq!(presence(&subject, 2_000).await, None);
    check_in(&subject, 2).await;
    assert_eq!(presence(&subject, 2).await, Some(known(Present, true)));
    // Entering again is no poll, and does not make the line forget one.
    subject.enter_silently(visitor(1)).await;
    subject.enter_silently(visitor(2)).await;
    assert_eq!(presence(&subject, 1).await, Some(known(Called, false)));
    assert_eq!(presence(&subject, 2).await, Some(known(Present, true)));
    run_seconds(&subject, CALL_SECONDS + 1, &[]).await;
    assert_eq!(presence(&subject, 1).await, Some(known(Called, false)));
    run_seconds(&subject, PRESENCE_SECONDS, &[]).await;
    assert_eq!(
        presence(&subject, 2).await,
        Some(known(Called, true)),
        "polled long ago"
    );
    make_room(&mut subject).await;
    assert_eq!(presence(&subject, 1).await, Some(known(Absent, false)));
    assert_eq!(presence(&subject, 2).await, Some(known(Absent, true)));
    check_in(&subject, 2).await;
    assert_eq!(presence(&subject, 2).await, Some(known(Present, true)));

    subject
        .change_settings(|settings| settings.presence_seconds = 0)
        .await;
    subject.tick().await;
    assert_eq!(
        presence(&subject, 600).await,
        Some(known(Present, true)),
        "the line does not know"
    );
}

pub(crate) async fn evicting_a_group_spares_visitors_who_polled(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 30, &[3, 20], 40).await;
    let before = subject.view().await;
    let everyone = order(&subject, 1..=30, true).await;
    assert_eq!(evict(&subject, &everyone).await, 28);

    for number in [3, 20] {
        assert_eq!(subject.state(visitor(number)).await, EntryState::Waiting);
    }
    assert_eq!(subject.position(visitor(20)).await, 2, "only visitor 3 is ahead");
    assert_eq!(counts(&subject).await, (2, 2, 0));
    let ended = subject.expect_not_found(visitor(1)).await;
    let NotFound::Ended(end) = ended else {
        panic!("the line remembers the end: {ended:?}")
    };
    let fact = Fact::ended(everyone.visits[0].1);
    let how = EndReason::Evicted;
    assert_eq!(end.event, Event::Ended { fact, how });
    let after = subject.view().await;
    assert_eq!(after.totals.evicted, before.totals.evicted + 28);
    assert_eq!(
        after.imbalance.visits, before.imbalance.visits,
        "each visit is counted once"
    );

    // All ends are one record of the journal, so they reach the backup, however the caller dies.
    let journal = subject.journal().await;
    let record = journal.last().expect("a record");
    assert_eq!(record.changes.len(), 28);
    assert!(record.changes.contains(&end));
    let by_another_operator = evict(&subject, &everyone).await;
    assert_eq!(by_another_operator, 0, "a second order ends no visit again");
    assert_eq!(subject.view().await.totals.evicted, after.totals.evicted);
    assert_eq!(make_room(&mut subject).await.promoted, 2);
}

pub(crate) async fn evicting_absent_entries_keeps_the_counts_of_the_lane(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 20, &[20], 200).await;
    make_room(&mut subject).await;
    assert_eq!(
        counts(&subject).await,
        (0, 0, 19),
        "all but visitor 20 are absent"
    );
    let before = lane(&subject).await;
    let half = order(&subject, 1..=10, true).await;
    assert_eq!(evict(&subject, &half).await, 10);
    assert_eq!(counts(&subject).await, (0, 0, 9));
    assert_eq!(lane(&subject).await.gone_ahead, before.gone_ahead);
    // A newcomer has no absent entry ahead.
    subject.change_settings(|settings| settings.paused = true).await;
    subject.tick().await;
    let rest = order(&subject, 11..=15, false).await;
    assert_eq!(evict(&subject, &rest).await, 5);
    let newcomer = subject.enter(visitor(77)).await;
    let position = subject.line.check_in(&subject.queue, visitor(77)).await;
    assert!(newcomer.change.is_some());
    let status = position.expect("an answer").lookup;
    assert!(format!("{status:?}").contains("position: 1"), "{status:?}");
    // One of the others wakes up, and is first.
    assert_eq!(check_in(&subject, 17).await, Some(1));
    assert_eq!(lane(&subject).await.gone_ahead, before.gone_ahead - 1);
}

pub(crate) async fn an_eviction_names_the_visit(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 3, &[], 0).await;
    let mut stale = order(&subject, [1, 2], false).await;
    stale.visits[0].1 = Visit::new(stale.visits[0].1.number() - 1).expect("a visit");
    stale.visits.push((visitor(1_000), stale.visits[1].1));
    stale.visits.push(stale.visits[1]);
    assert_eq!(evict(&subject, &stale).await, 1, "visitor 2, once");
    assert_eq!(subject.state(visitor(1)).await, EntryState::Waiting);
    assert_eq!(
        subject.state(visitor(1_000)).await,
        EntryState::Active,
        "it does not wait"
    );
    assert_eq!(evict(&subject, &order(&subject, [], false).await).await, 0);
    // The visitor may enter again, at the back.
    let place = subject.place(visitor(3)).await;
    subject.enter(visitor(2)).await;
    assert!(subject.place(visitor(2)).await > place);
}

pub(crate) async fn a_thousand_entries_are_evicted_at_once(mut subject: Subject) {
    subject.open(bounded(1, 10, 1)).await;
    subject.enter(visitor(9_000)).await;
    subject.line_up_silently(1..=1_100).await;
    let thousand = order(&subject, 1..=1_000, true).await;
    assert_eq!(evict(&subject, &thousand).await, 1_000);
    assert_eq!(subject.view().await.waiting, 100);
    assert_eq!(subject.position(visitor(1_001)).await, 1);
}

pub(crate) async fn a_full_journal_refuses_an_eviction(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 3, &[], 0).await;
    let limits = JournalLimits {
        all_changes: 0,
        ..JournalLimits::default()
    };
    let full = subject.with_journal_limits(limits);
    let order = order(&subject, 1..=3, false).await;
    let refused = full.line.evict_waiting(&subject.queue, &order).await;
    assert!(matches!(refused, Err(LineError::JournalFull)), "{refused:?}");
    assert_eq!(subject.view().await.waiting, 3);
}
