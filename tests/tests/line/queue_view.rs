//! What an operator sees of a queue, and of a queue that does not exist.

use vestibule_domain::{
    change::{Change, EndReason, Event, Version, VisitEnd},
    fact::Fact,
    load::LoadReport,
    score::Visit,
    settings::Settings,
    state::EntryState,
};
use vestibule_line::{
    AdoptBasis, AdoptOrder, Arrival, Cursor, JoinKind, LeaveReason, LineError, QueueTotals, RequeueOrder,
    SessionExtension, Validation,
};
use vestibule_tests::lines::{Subject, configuration, tick_order, visitor};

use crate::{reports::EACH_10_SECONDS, settings::three_a_second};

pub(crate) async fn every_method_reports_an_unknown_queue(subject: Subject) {
    let (line, queue, id) = (&subject.line, &subject.queue, visitor(1));
    let check = Validation {
        visit: None,
        claims: true,
        consumes: true,
        use_id: None,
        reactivate_until_ms: None,
    };
    let extension = SessionExtension {
        visit: None,
        seconds: 1,
        latest_end_ms: 1,
    };
    let fact = Fact::ended(Visit::new(1).expect("below 2^49"));
    let change = Change {
        id,
        version: Version { epoch: 1, v: 1 },
        at_ms: 1,
        event: Event::Ended {
            fact,
            how: EndReason::Left,
        },
        source: None,
    };
    let adoption = AdoptOrder {
        id,
        generation: 1,
        record: None,
        basis: AdoptBasis::Known,
    };
    let configuration = configuration(&Settings::default());
    let nothing_left = RequeueOrder {
        key: "1-1".to_owned(),
        untried: Vec::new(),
        rejected: vec![change],
        attempts: 1,
        backoff_ms: 1,
    };
    let report = LoadReport {
        tps: Some(1),
        latency_ms: None,
        healthy: true,
    };
    let answers = [
        line.enter(queue, id, Arrival::Ordinary).await.map(drop),
        line.status(queue, id).await.map(drop),
        line.status_many(queue, &[id]).await.map(drop),
        line.mark_closing(queue, id, None).await.map(drop),
        line.adopt(queue, &adoption).await.map(drop),
        line.read_page(queue, &Cursor::default()).await.map(drop),
        line.claim(queue, id).await.map(drop),
        line.leave(queue, id, None, LeaveReason::Evict).await.map(drop),
        line.validate(queue, id, check).await.map(drop),
        line.extend(queue, id, extension).await.map(drop),
        line.promote(queue, tick_order(1)).await.map(drop),
        line.adjust_clock(queue, 0).await.map(drop),
        line.take_report(queue, EACH_10_SECONDS).await.map(drop),
        line.configure(queue, &configuration, false).await.map(drop),
        line.record_load(queue, &report).await,
        line.queue_view(queue).await.map(drop),
        line.due_journal_records(queue, 1).await.map(drop),
        line.journal_records(queue, 1).await.map(drop),
        line.dead_lettered(queue, 1).await.map(drop),
        line.dead_letter(queue, "1-1").await.map(drop),
        line.requeue_with_backoff(queue, &nothing_left).await,
        line.append_to_journal(queue, &change).await,
        line.acknowledge(queue, &["1-1".to_owned()], &[VisitEnd { id, fact }])
            .await,
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        assert!(
            matches!(answer, Err(LineError::QueueNotFound)),
            "method {number}: {answer:?}"
        );
    }
    line.ping().await.expect("the line itself answers");
}

pub(crate) async fn the_view_counts_entries_and_events(mut subject: Subject) {
    subject.open(three_a_second()).await;
    let start_ms = subject.clock.now_ms();
    for number in 1..=10 {
        subject.enter(visitor(number)).await; // Visitors 1 to 3 take the fast track.
    }
    let view = subject.view().await;
    assert_eq!(
        (view.waiting, view.ready, view.active, view.now_ms),
        (7, 0, 3, start_ms)
    );
    subject.leave(visitor(1), LeaveReason::Complete).await;
    subject.leave(visitor(2), LeaveReason::Evict).await;
    subject.leave(visitor(10), LeaveReason::Leave).await;
    for _ in 0..2 {
        subject.advance_seconds(1);
        assert_eq!(subject.tick().await.promoted, 3);
    }
    subject.claim(visitor(4)).await;
    subject.claim(visitor(5)).await;
    let view = subject.view().await;
    assert_eq!(
        (
            view.waiting,
            view.ready,
            view.active,
            view.held,
            view.unsettled_ends
        ),
        (0, 4, 3, 1, 3)
    );
    assert_eq!(view.heartbeat_ms, start_ms + 2_000);
    let first_still_there = subject.enter(visitor(3)).await;
    assert_eq!(first_still_there.kind, JoinKind::Kept);
    subject.advance_seconds(298);
    assert_eq!(subject.state(visitor(4)).await, EntryState::Active);
    subject.tick().await;
    let view = subject.view().await;
    assert_eq!(
        (
            view.waiting,
            view.ready,
            view.active,
            view.held,
            view.unsettled_ends
        ),
        (0, 0, 2, 0, 8)
    );
    assert_eq!(
        view.totals,
        QueueTotals {
            entered: 10,
            fast_tracked: 3,
            bypassed: 0,
            promoted: 6,
            claimed: 2,
            completed: 1,
            left: 1,
            evicted: 1,
            overlong_waits: 0,
            dismissed: 0,
            expired: 1,
            absences: 0,
            no_shows: 4,
            returned: 0,
        }
    );
    let promoted = subject.journal().await[0].changes.clone();
    let promoted_through = promoted
        .iter()
        .chain(&subject.journal().await[1].changes)
        .filter_map(|change| match change.event {
            Event::Promoted { place, .. } => Some(place.raw()),
            _ => None,
        })
        .max();
    assert_eq!(Some(view.promoted_through), promoted_through);
}
