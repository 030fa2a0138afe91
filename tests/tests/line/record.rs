//! What the line tells the backup and the operator: journal, ends, configuration, counts.

use std::collections::HashMap;

use vestibule::{
    domain::{
        change::{Change, End, Ending, Event, Version},
        id::Salt,
        load::LoadReport,
        score::Visit,
        settings::Settings,
        standing::Standing,
        state::State,
    },
    line::{
        Check, Configuration, Configured, Deferral, Departure, Extended, Extension, Joining, LineError,
        Missing, PromoteOrder, Totals,
    },
};
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::report::EACH_10_SECONDS;

fn three_at_a_time() -> Settings {
    Settings {
        capacity: 100,
        batch: 3,
        interval_seconds: 1,
        ..Settings::default()
    }
}

fn missed(visit: Visit) -> Event {
    Event::Ended {
        visit,
        how: End::Expired,
    }
}

pub(crate) async fn the_journal_has_promotions_and_expiries_in_order(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    assert!(subject.journal().await.is_empty());
    subject.line_up(1..=7).await;
    let mut scores = HashMap::new();
    for number in 1..=7 {
        if let Standing::Waiting { score, .. } = subject.standing(visitor(number)).await {
            scores.insert(number, score);
        }
    }
    let promoted = |number, claim_by_ms| Event::Promoted {
        score: scores[&number],
        claim_by_ms,
    };
    let first_ms = subject.clock.now_ms();
    subject.tick().await;
    let (_, claim) = subject.claim(visitor(1)).await;
    subject.tick().await; // Nothing to do: nothing to write.
    subject.pass_seconds(1);
    subject.tick().await;
    subject.pass_seconds(299);
    let last_ms = subject.clock.now_ms();
    subject.tick().await;

    let records = subject.journal().await;
    let happened: Vec<Vec<_>> = records
        .iter()
        .map(|record| {
            let mut of_one: Vec<_> = record
                .changes
                .iter()
                .map(|change| (change.id, change.event))
                .collect();
            of_one.sort_by_key(|(id, _)| (1..=7).find(|number| visitor(*number) == *id));
            of_one
        })
        .collect();
    let (by_ms, one_later_ms, at_last_ms) = (first_ms + 60_000, first_ms + 61_000, last_ms + 60_000);
    let wanted = [
        vec![
            (1, promoted(1, by_ms)),
            (2, promoted(2, by_ms)),
            (3, promoted(3, by_ms)),
        ],
        vec![
            (4, promoted(4, one_later_ms)),
            (5, promoted(5, one_later_ms)),
            (6, promoted(6, one_later_ms)),
        ],
        // The session of 1 and the turns of 2 to 6 are over; 7 has its turn.
        (1..=6)
            .map(|number| (number, missed(scores[&number].visit())))
            .chain([(7, promoted(7, at_last_ms))])
            .collect(),
    ]
    .map(|of_one| {
        of_one
            .into_iter()
            .map(|(number, event)| (visitor(number), event))
            .collect::<Vec<_>>()
    });
    assert_eq!(happened, wanted);
    // The order of versions is the order of what happened, with what callers write in between.
    let versions: Vec<Version> = records.iter().map(|record| record.changes[0].version).collect();
    assert!(
        versions[0] < claim.version && claim.version < versions[1] && versions[1] < versions[2],
        "{versions:?} {claim:?}"
    );
    for record in &records {
        let one = &record.changes[0];
        assert!(
            record
                .changes
                .iter()
                .all(|change| (change.version, change.at_ms) == (one.version, one.at_ms))
        );
    }
    assert_eq!(records[2].changes[0].at_ms, last_ms);

    // Whoever drains it takes the oldest first, and what is settled is gone.
    let oldest = subject.line.journal(&subject.queue, 2).await.expect("journal");
    assert_eq!(oldest, records[..2]);
    let keys = [records[0].key.clone(), records[1].key.clone()];
    subject
        .line
        .settle(&subject.queue, &keys, &[])
        .await
        .expect("settle");
    assert_eq!(subject.journal().await, records[2..]);
    assert_eq!(subject.view().await.journal, 1);
    subject
        .line
        .settle(&subject.queue, &keys, &[])
        .await
        .expect("again is harmless");
    subject.settle(&[]).await;
    assert!(subject.journal().await.is_empty());
}

pub(crate) async fn a_change_that_the_backup_did_not_take_is_recorded(mut subject: Subject) {
    subject
        .open(Settings {
            batch: 1,
            ..three_at_a_time()
        })
        .await;
    // One change of every kind.
    let fast = subject.enter(visitor(1)).await.change.expect("new");
    let waiting = subject.enter(visitor(2)).await.change.expect("new");
    subject.pass_seconds(1);
    subject.tick().await;
    let promoted = subject.journal().await[0].changes[0];
    let (_, claimed) = subject.claim(visitor(2)).await;
    let extension = Extension {
        visit: None,
        seconds: 1_000,
        latest_end_ms: subject.clock.now_ms() + 900_000,
    };
    let extended = match subject.line.extend(&subject.queue, visitor(2), extension).await {
        Ok(Extended::Active { change, .. }) => change,
        other => panic!("{other:?}"),
    };
    let completed = subject.leave(visitor(2), Departure::Complete).await;
    let left = subject.leave(visitor(1), Departure::Evict).await;
    let expired = Change {
        event: missed(fast.event.visit()),
        ..left
    };
    let changes = [
        fast, waiting, promoted, claimed, extended, completed, left, expired,
    ];
    subject.settle(&[]).await;
    for change in &changes {
        subject.line.record(&subject.queue, change).await.expect("record");
    }
    let read: Vec<_> = subject
        .journal()
        .await
        .into_iter()
        .map(|record| record.changes)
        .collect();
    assert_eq!(read, changes.map(|change| vec![change]));
}

pub(crate) async fn an_end_is_remembered_until_it_is_settled(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    subject.line_up(1..=4).await;
    subject.tick().await;
    subject.claim(visitor(1)).await;
    subject.leave(visitor(1), Departure::Complete).await;
    subject.leave(visitor(4), Departure::Leave).await;
    subject.pass_seconds(60);
    for number in 1..=4 {
        assert_eq!(
            subject.missing(visitor(number)).await,
            Missing::Ended,
            "visitor {number}"
        );
    }
    assert_eq!(subject.tick().await.no_shows, 2);
    assert_eq!(subject.view().await.ended, 4);
    subject.settle(&[visitor(1), visitor(2)]).await;
    for (number, missing) in [
        (1, Missing::Unknown),
        (2, Missing::Unknown),
        (3, Missing::Ended),
        (4, Missing::Ended),
        (5, Missing::Unknown),
    ] {
        assert_eq!(
            subject.missing(visitor(number)).await,
            missing,
            "visitor {number}"
        );
    }
    assert_eq!(subject.view().await.ended, 2);
}

pub(crate) async fn configuring(subject: Subject) {
    let mut settings = Settings {
        message: Some("금방 열려요 \"soon\" \\ {Q}\n".to_owned()),
        target_url: Some("https://shop.example/checkout?a=1".to_owned()),
        ..three_at_a_time()
    };
    let first = configuration(&settings);
    let line = &subject.line;
    let put = async |configuration, create| line.configure(&subject.queue, configuration, create).await;
    assert!(matches!(put(&first, false).await, Err(LineError::Unknown)));
    assert!(matches!(put(&first, true).await, Ok(Configured::Created)));
    let view = subject.view().await;
    assert_eq!(view.configuration, first);
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 0));
    assert!(matches!(put(&first, true).await, Ok(Configured::Same)));
    assert!(matches!(put(&first, false).await, Ok(Configured::Same)));
    assert_eq!(subject.view().await, view);

    settings.message = None;
    settings.capacity = 5;
    let second = configuration(&settings);
    let mut third = second.clone();
    third.revision = String::from("another");
    for (configuration, create) in &[(second, false), (third, true)] {
        subject.enter(visitor(1)).await;
        let changed = put(configuration, *create).await;
        assert!(matches!(changed, Ok(Configured::Changed)), "{changed:?}");
        let again = put(configuration, *create).await;
        assert!(matches!(again, Ok(Configured::Same)), "{again:?}");
        let view = subject.view().await;
        assert_eq!(view.configuration, *configuration);
        assert!(view.active >= 1, "whoever is there stays");
    }
}

pub(crate) async fn configuring_in_order(subject: Subject) {
    let line = &subject.line;
    let put = async |configuration: &Configuration| {
        let answer = line.configure(&subject.queue, configuration, true).await;
        (answer.expect("an answer"), subject.view().await.configuration)
    };
    let ordered = |settings_order, capacity| {
        let settings = Settings {
            capacity,
            ..three_at_a_time()
        };
        Configuration {
            settings_order,
            ..configuration(&settings)
        }
    };
    let (first, second) = (ordered(1, 5), ordered(2, 6));
    assert_eq!(put(&first).await, (Configured::Created, first.clone()));
    assert_eq!(put(&second).await, (Configured::Changed, second.clone()));
    assert_eq!(
        put(&first).await,
        (Configured::Older, second.clone()),
        "read before"
    );

    let by_hand = ordered(2, 7);
    assert_eq!(put(&by_hand).await, (Configured::Changed, by_hand.clone()));
    let again = ordered(4, 7);
    assert_eq!(put(&again).await, (Configured::Same, again.clone()));
    assert_eq!(put(&ordered(3, 8)).await, (Configured::Older, again.clone()));

    // Of another epoch: it has to be put back, or was.
    let reset = Configuration {
        epoch: 2,
        generation: 2,
        salt: Salt::new([9; 32]),
        ..ordered(0, 9)
    };
    assert_eq!(put(&reset).await, (Configured::Behind, again.clone()));
    let earlier = Configuration {
        epoch: 0,
        ..ordered(9, 9)
    };
    assert_eq!(put(&earlier).await, (Configured::Older, again));
}

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
    let order = PromoteOrder {
        asked: 1,
        heartbeat: true,
        fence: None,
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
        line.promote(queue, order).await.map(drop),
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

/// The write of an end may be late: by then the visitor may have come and gone again.
pub(crate) async fn a_late_settlement_leaves_the_next_end_remembered(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    subject.enter(visitor(1)).await;
    let first = subject.leave(visitor(1), Departure::Leave).await;
    subject.enter(visitor(1)).await;
    let second = subject.leave(visitor(1), Departure::Leave).await;
    for (late, missing) in [(&first, Missing::Ended), (&second, Missing::Unknown)] {
        let ending = late.ending().expect("an end");
        let remembered = subject
            .line
            .end(&subject.queue, visitor(1))
            .await
            .expect("answered");
        assert_eq!(remembered, Some(second), "the last end, word for word");
        subject
            .line
            .settle(&subject.queue, &[], &[ending])
            .await
            .expect("settle");
        assert_eq!(subject.missing(visitor(1)).await, missing);
    }
}
