//! A journal that is at its limit: nobody new, and everybody who has a place keeps it.

use vestibule_domain::{
    pace::HeldBackBy,
    settings::{ReEntry, Settings},
    standing::Standing,
    state::State,
};
use vestibule_line::{Departure, Entered, Joining, JournalLimits, LineError, Refusal};
use vestibule_tests::lines::{Subject, visitor};

const LIMITS: JournalLimits = JournalLimits {
    newcomers: 3,
    all: 5,
    aside: 1,
};

/// Visitors 1 to 4 have places, the first two of them inside; records fill the journal up to its limit for newcomers.
async fn at_the_limit(subject: &Subject, re_entry: ReEntry) -> Subject {
    let mut subject = subject.limited(LIMITS);
    subject
        .open(Settings {
            capacity: 2,
            batch: 2,
            interval_seconds: 1,
            re_entry,
            ..Settings::default()
        })
        .await;
    for number in 1..=4 {
        let change = subject.enter(visitor(number)).await.change.expect("new");
        if number > 1 {
            subject
                .line
                .record(&subject.queue, &change)
                .await
                .expect("there is room");
        }
    }
    assert_eq!(subject.view().await.journal, LIMITS.newcomers);
    subject
}

/// The backup takes one record.
async fn settle_one(subject: &Subject) {
    let oldest = subject.journal().await.remove(0).key;
    let settled = subject.line.settle(&subject.queue, &[oldest], &[]).await;
    settled.expect("settled");
}

async fn enters(subject: &Subject, number: u64) -> Entered {
    let entered = subject.line.enter(&subject.queue, visitor(number)).await;
    entered.expect("an answer")
}

pub(crate) async fn at_the_limit_nobody_gets_a_new_place(subject: Subject) {
    let subject = at_the_limit(&subject, ReEntry::Keep).await;
    let before = subject.view().await;
    let refused = Entered::Refused(Refusal::JournalFull);
    assert_eq!(enters(&subject, 5).await, refused);
    assert_eq!(subject.view().await, before, "nothing of it is left behind");
    for number in 1..=4 {
        let place = subject.enter(visitor(number)).await;
        assert_eq!(place.how, Joining::Kept, "visitor {number}");
    }

    // Nor on the fast track, and whoever left is new.
    for number in [3, 4, 1, 2] {
        subject.leave(visitor(number), Departure::Leave).await;
        assert_eq!(enters(&subject, number).await, refused, "visitor {number}");
    }
    subject.pass_seconds(1);
    assert_eq!(enters(&subject, 5).await, refused);
    let view = subject.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 0));
    assert_eq!(view.totals.entered, 4);

    settle_one(&subject).await;
    assert_eq!(subject.enter(visitor(5)).await.standing.state(), State::Active);
}

pub(crate) async fn at_the_limit_a_session_that_ran_out_is_no_way_in(subject: Subject) {
    let subject = at_the_limit(&subject, ReEntry::Keep).await;
    subject.pass_seconds(300);
    let before = subject.view().await;
    assert_eq!(
        enters(&subject, 1).await,
        Entered::Refused(Refusal::JournalFull),
        "its session is over: it would be a new visit"
    );
    assert_eq!(subject.view().await, before);
    subject.settle(&[]).await;
    assert_eq!(subject.enter(visitor(1)).await.how, Joining::New);
}

pub(crate) async fn at_the_limit_whoever_asks_to_may_still_move_back(subject: Subject) {
    let subject = at_the_limit(&subject, ReEntry::Requeue).await;
    assert_eq!(subject.enter(visitor(3)).await.how, Joining::Moved);
    assert_eq!(subject.position(visitor(3)).await, 2);
}

pub(crate) async fn at_the_limit_nobody_is_promoted_or_dropped(subject: Subject) {
    let subject = at_the_limit(&subject, ReEntry::Keep).await;
    subject.leave(visitor(1), Departure::Complete).await;
    subject.pass_seconds(1);
    let promotion = subject.tick().await;
    assert_eq!(
        (promotion.promoted, promotion.held_back_by),
        (0, HeldBackBy::Journal)
    );
    assert_eq!((promotion.waiting, promotion.ready, promotion.active), (2, 0, 1));
    let view = subject.view().await;
    assert_eq!(view.journal, LIMITS.newcomers, "nothing is added");
    assert_eq!(
        view.heartbeat_ms,
        subject.clock.now_ms(),
        "a promoter is there all the same"
    );
    subject.pass_seconds(300);
    let promotion = subject.tick().await;
    assert_eq!((promotion.expired, promotion.active), (0, 1));

    // One record less, and it goes on where it stood.
    settle_one(&subject).await;
    let promotion = subject.tick().await;
    assert_eq!((promotion.expired, promotion.promoted), (1, 2));
    assert!(matches!(
        subject.standing(visitor(3)).await,
        Standing::Ready { .. }
    ));
}

pub(crate) async fn what_was_promised_has_a_reserve(subject: Subject) {
    let subject = at_the_limit(&subject, ReEntry::Keep).await;
    let left = subject.leave(visitor(1), Departure::Leave).await;
    for _ in LIMITS.newcomers..LIMITS.all {
        subject
            .line
            .record(&subject.queue, &left)
            .await
            .expect("of the reserve");
    }
    let full = subject.line.record(&subject.queue, &left).await;
    assert!(matches!(full, Err(LineError::JournalFull)), "{full:?}");
    assert_eq!(subject.view().await.journal, LIMITS.all);
    // The end is not lost with that: the line remembers it until the backup has it.
    let end = subject.line.end(&subject.queue, visitor(1)).await;
    assert_eq!(end.expect("an answer"), Some(left));
    subject.settle(&[]).await;
    subject
        .line
        .record(&subject.queue, &left)
        .await
        .expect("there is room again");
}
