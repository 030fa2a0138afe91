//! What an operator sees of a queue, and of one that is not there.

use vestibule_domain::{
    change::{Change, Ending, Event, Version},
    load::LoadReport,
    score::Visit,
    settings::Settings,
    state::State,
};
use vestibule_line::{Check, Deferral, Departure, Extension, Joining, LineError, Totals};
use vestibule_tests::lines::{Subject, configuration, tick_of, visitor};

use crate::{journal::missed, report::EACH_10_SECONDS, settings::three_at_a_time};

pub(crate) async fn an_unknown_queue_is_unknown_to_every_method(subject: Subject) {
    let (line, queue, id) = (&subject.line, &subject.queue, visitor(1));
    let check = Check {
        visit: None,
        claims: true,
        consumes: true,
        let_in_until_ms: None,
    };
    let extension = Extension {
        visit: None,
        seconds: 1,
        latest_end_ms: 1,
    };
    let change = Change {
        id,
        version: Version { epoch: 1, v: 1 },
        at_ms: 1,
        event: missed(Visit::new(1).expect("below 4096")),
    };
    let configuration = configuration(&Settings::default());
    let nothing_left = Deferral {
        key: "1-1".to_owned(),
        rest: Vec::new(),
        refused: vec![change],
        tries: 1,
        wait_ms: 1,
    };
    let report = LoadReport {
        tps: 1,
        latency_ms: None,
        healthy: true,
    };
    let answers = [
        line.enter(queue, id).await.map(drop),
        line.status(queue, id).await.map(drop),
        line.looks(queue, &[id]).await.map(drop),
        line.end(queue, id).await.map(drop),
        line.claim(queue, id).await.map(drop),
        line.leave(queue, id, None, Departure::Evict).await.map(drop),
        line.validate(queue, id, check).await.map(drop),
        line.extend(queue, id, extension).await.map(drop),
        line.promote(queue, tick_of(1)).await.map(drop),
        line.adjust(queue, 0).await.map(drop),
        line.report(queue, EACH_10_SECONDS).await.map(drop),
        line.configure(queue, &configuration, false).await.map(drop),
        line.keep_load(queue, &report).await,
        line.view(queue).await.map(drop),
        line.journal(queue, 1).await.map(drop),
        line.whole_journal(queue, 1).await.map(drop),
        line.aside(queue, 1).await.map(drop),
        line.set_aside(queue, "1-1").await.map(drop),
        line.defer(queue, &nothing_left).await,
        line.record(queue, &change).await,
        line.settle(
            queue,
            &["1-1".to_owned()],
            &[Ending {
                id,
                version: Version::default(),
            }],
        )
        .await,
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        assert!(
            matches!(answer, Err(LineError::Unknown)),
            "method {number}: {answer:?}"
        );
    }
    line.ping().await.expect("the line itself answers");
    assert!(matches!(line.view(queue).await, Err(LineError::Unknown)));
}

pub(crate) async fn the_view_counts(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    let start_ms = subject.clock.now_ms();
    for number in 1..=10 {
        subject.enter(visitor(number)).await; // 1 to 3 on the fast track.
    }
    let view = subject.view().await;
    assert_eq!(
        (view.waiting, view.ready, view.active, view.now_ms),
        (7, 0, 3, start_ms)
    );
    subject.leave(visitor(1), Departure::Leave).await;
    subject.leave(visitor(2), Departure::Evict).await;
    subject.leave(visitor(10), Departure::Leave).await;
    for _ in 0..2 {
        subject.pass_seconds(1);
        assert_eq!(subject.tick().await.promoted, 3);
    }
    subject.claim(visitor(4)).await;
    subject.claim(visitor(5)).await;
    let view = subject.view().await;
    assert_eq!((view.waiting, view.ready, view.active, view.ended), (0, 4, 3, 3));
    assert_eq!(view.heartbeat_ms, start_ms + 2_000);
    let first_still_there = subject.enter(visitor(3)).await;
    assert_eq!(first_still_there.how, Joining::Kept);
    subject.pass_seconds(298);
    assert_eq!(subject.state(visitor(4)).await, State::Active);
    subject.tick().await;
    let view = subject.view().await;
    assert_eq!((view.waiting, view.ready, view.active, view.ended), (0, 0, 2, 8));
    assert_eq!(
        view.totals,
        Totals {
            entered: 10,
            fast_tracked: 3,
            promoted: 6,
            claimed: 2,
            completed: 1,
            left: 2,
            expired: 1,
            no_shows: 4,
        }
    );
    let promoted = subject.journal().await[0].changes.clone();
    let through = promoted
        .iter()
        .chain(&subject.journal().await[1].changes)
        .filter_map(|change| match change.event {
            Event::Promoted { score, .. } => Some(score.raw()),
            _ => None,
        })
        .max();
    assert_eq!(Some(view.promoted_through), through);
}
