//! The record shows that an entry ended, or that its session ran out.

use vestibule_domain::{
    change::{EndReason, Event},
    fact::Fact,
};
use vestibule_line::{
    AdoptBasis::{Known, UnknownAt},
    AdoptOutcome,
};
use vestibule_tests::lines::Subject;

use super::{adopt, ended_record, live_record, open_with_every_state, place_before, stored_fact};
use crate::missing::expect_end;

pub(crate) async fn an_end_in_the_record_removes_the_entry(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    for (number, how) in [
        (1, EndReason::Completed),
        (2, EndReason::NoShow),
        (3, EndReason::Left),
        (4, EndReason::Evicted),
    ] {
        let fact = stored_fact(&subject, number).await;
        let fact = match how {
            EndReason::NoShow => fact.timed_out(),
            _ => Fact::ended(fact.visit),
        };
        let record = ended_record(&subject, number, fact, how).await;
        assert_eq!(
            adopt(&subject, number, Some(record.clone()), Known).await,
            AdoptOutcome::Ended {
                change: None,
                has_removed: true
            }
        );
        let end = expect_end(&subject, number).await;
        assert_eq!(end.event, Event::Ended { fact, how });
        assert_eq!(
            end.version, record.version,
            "the end has the version of the record"
        );
    }
    let view = subject.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 0));
    assert_eq!(view.unsettled_ends, 0, "the backup has the ends");
    let totals = view.totals;
    assert_eq!(
        (totals.completed, totals.no_shows, totals.left, totals.evicted),
        (1, 1, 1, 1)
    );
}

pub(crate) async fn a_session_that_ran_out_meanwhile_expires(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let now_ms = subject.clock.now_ms();
    for (number, has_removed) in [(3, true), (5, false)] {
        let (visit, basis) = if has_removed {
            (stored_fact(&subject, number).await.visit, Known)
        } else {
            (place_before(&subject, 1_000).visit(), UnknownAt(now_ms))
        };
        let fact = Fact::active(visit, now_ms);
        let record = live_record(&subject, number, fact).await;
        let version = subject.view().await.version;
        let outcome = adopt(&subject, number, Some(record), basis).await;
        let AdoptOutcome::Ended {
            change: Some(end),
            has_removed: removed,
        } = outcome
        else {
            panic!("{outcome:?}");
        };
        let how = EndReason::Expired;
        let fact = fact.timed_out();
        assert_eq!((end.event, removed), (Event::Ended { fact, how }, has_removed));
        assert!(end.version > version);
        assert_eq!(
            expect_end(&subject, number).await,
            end,
            "the line keeps the end, so that the next caller writes it if this one is killed"
        );
    }
    let view = subject.view().await;
    assert_eq!((view.unsettled_ends, view.totals.expired), (2, 2));
}
