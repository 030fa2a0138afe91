//! What holds for every backup.

use std::collections::HashMap;

use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use uuid::Uuid;
use vestibule::{
    backup::{Backup, Lease, LinePart, Placing, Shelf, StoredQueue, Written, file::FileBackup},
    domain::{
        change::{Change, End, Event, Version},
        id::{SHARDS, Salt},
        record::Record,
        settings::Settings,
        state::State,
    },
};
use vestibule_tests::{
    entries::{change, fresh_id, fresh_queue, fresh_shelf, now_ms, place, write_all},
    servers,
};

on_both! {
    a_change_reads_back
    repeats_and_late_arrivals_add_what_was_missing_and_change_nothing
    a_later_visit_leaves_nothing_of_an_earlier_one
    of_two_writers_the_later_change_wins
    a_place_is_written_where_no_other_visit_stands
    a_line_that_lost_what_it_did_undoes_nothing
    the_live_entries_are_exactly_the_live_ones
    many_changes_at_once_are_all_written
    a_queue_is_created_once
    settings_are_replaced_only_where_they_are_as_expected
    settings_read_back_as_they_were_written
    it_answers_a_ping
}

/// Every event of one visit, in order, with versions from 1 on.
fn one_visit() -> Vec<Change> {
    let (id, score) = (fresh_id(), place(0));
    let (visit, now_ms) = (score.visit(), now_ms());
    let events = [
        Event::Entered { score },
        Event::Promoted {
            score,
            claim_by_ms: now_ms + 60_000,
        },
        Event::Claimed {
            visit,
            session_end_ms: now_ms + 300_000,
        },
        Event::Claimed {
            visit,
            session_end_ms: now_ms + 300_000,
        },
        Event::Extended {
            visit,
            session_end_ms: now_ms + 400_000,
        },
        Event::Ended {
            visit,
            how: End::Completed,
        },
    ];
    (1..).zip(events).map(|(v, event)| change(id, v, event)).collect()
}

/// What stands after all of these.
fn folded(shelf: &Shelf, changes: &[Change]) -> Option<Record> {
    changes.iter().fold(None, |standing, change| {
        Record::after(standing.as_ref(), change, shelf.retain_hours).or(standing)
    })
}

async fn written(backup: &dyn Backup, shelf: &Shelf, change: &Change) -> Written {
    backup.write(shelf, change).await.expect("written")
}

/// Such a line goes on from where it was: with later versions, and with visits that are over or further along.
async fn a_line_that_lost_what_it_did_undoes_nothing(backup: &dyn Backup) {
    let (shelf, id) = (fresh_shelf(), fresh_id());
    let (first, second) = (place(1), place(5_000));
    let (old, now) = (first.visit(), second.visit());
    assert_ne!(old, now);
    let deadline_ms = now_ms() + 60_000;
    let promoted = |score| Event::Promoted {
        score,
        claim_by_ms: deadline_ms,
    };
    let claimed = |visit| Event::Claimed {
        visit,
        session_end_ms: deadline_ms,
    };
    let ended = |visit| Event::Ended {
        visit,
        how: End::Left,
    };
    let expired = |visit| Event::Ended {
        visit,
        how: End::Expired,
    };
    let entered = |score| Event::Entered { score };
    // What stands, what comes with a later version, and whether it counts.
    let cases = [
        (vec![entered(first), ended(old)], promoted(first), false),
        (vec![entered(first), ended(old)], claimed(old), false),
        (vec![entered(first), ended(old)], expired(old), false),
        (vec![entered(first), ended(old)], entered(second), true),
        (vec![entered(first), promoted(first)], entered(first), false),
        (
            vec![entered(first), promoted(first), claimed(old)],
            entered(first),
            false,
        ),
        (
            vec![entered(first), promoted(first), claimed(old)],
            promoted(first),
            false,
        ),
        (
            vec![entered(first), promoted(first), claimed(old)],
            expired(old),
            false,
        ),
        (
            vec![entered(first), promoted(first), claimed(old)],
            ended(old),
            true,
        ),
        (vec![entered(second)], expired(old), false),
        (vec![entered(second)], claimed(old), false),
        (vec![entered(second)], promoted(first), false),
        (vec![entered(second)], entered(first), false),
        (vec![entered(first)], promoted(second), true),
        (vec![entered(first)], entered(second), true),
    ];
    let mut v = 0;
    for (before, event, counts) in cases {
        // Over, whatever stands there.
        for visit in [old, now] {
            v += 1;
            written(backup, &shelf, &change(id, v, ended(visit))).await;
        }
        for event in &before {
            v += 1;
            written(backup, &shelf, &change(id, v, *event)).await;
        }
        let stood = backup.entry(&shelf, id).await.expect("an answer");
        v += 1;
        let answer = written(backup, &shelf, &change(id, v, event)).await;
        let stands = backup.entry(&shelf, id).await.expect("an answer");
        let case = format!("{before:?}, then {event:?}: {answer:?}");
        assert_eq!(matches!(answer, Written::Stored(_)), counts, "{case}");
        assert_eq!(stands != stood, counts, "{case}");
    }
}

async fn a_change_reads_back(backup: &dyn Backup) {
    let (shelf, visit) = (fresh_shelf(), one_visit());
    assert_eq!(backup.entry(&shelf, visit[0].id).await.expect("an answer"), None);
    for so_far in 1..=visit.len() {
        let expected = folded(&shelf, &visit[..so_far]).expect("something");
        let change = &visit[so_far - 1];
        assert_eq!(
            written(backup, &shelf, change).await,
            Written::Stored(expected.clone())
        );
        let read = backup.entry(&shelf, change.id).await.expect("an answer");
        assert_eq!(read, Some(expected), "after {:?}", change.event);
    }
}

async fn repeats_and_late_arrivals_add_what_was_missing_and_change_nothing(backup: &dyn Backup) {
    let (shelf, visit) = (fresh_shelf(), one_visit());
    let last = visit.len() - 1;
    written(backup, &shelf, &visit[0]).await;
    let Written::Stored(mut stands) = written(backup, &shelf, &visit[last]).await else {
        panic!("the last change is the latest");
    };
    let (state, version, expires_at_ms) = (stands.state, stands.version, stands.expires_at_ms);
    assert_eq!(stands.promoted_at_ms, None, "nobody said yet");
    for late in visit.iter().chain(&visit) {
        let filled = Record::after(Some(&stands), late, shelf.retain_hours);
        let expected = filled.clone().map_or(Written::Older, Written::Stored);
        assert_eq!(written(backup, &shelf, late).await, expected, "{:?}", late.event);
        stands = filled.unwrap_or(stands);
        let read = backup.entry(&shelf, late.id).await.expect("an answer");
        assert_eq!(read.as_ref(), Some(&stands));
        assert_eq!(
            (stands.state, stands.version, stands.expires_at_ms),
            (state, version, expires_at_ms)
        );
    }
    assert_eq!(
        stands.promoted_at_ms,
        Some(visit[1].at_ms),
        "the late promotion alone knew it"
    );
    // A late arrival of the last epoch is older, however high it counted.
    let mut of_last_epoch = visit[1];
    of_last_epoch.version = Version {
        epoch: 0,
        v: u64::from(u32::MAX),
    };
    assert_eq!(written(backup, &shelf, &of_last_epoch).await, Written::Older);
}

async fn a_later_visit_leaves_nothing_of_an_earlier_one(backup: &dyn Backup) {
    let (shelf, visit) = (fresh_shelf(), one_visit());
    let (id, score) = (visit[0].id, place(7));
    let deadline_ms = now_ms() + 60_000;
    // However the later visit is heard of first.
    let firsts = [
        Event::Entered { score },
        Event::FastTracked {
            score,
            session_end_ms: deadline_ms,
        },
        Event::Promoted {
            score,
            claim_by_ms: deadline_ms,
        },
        Event::Claimed {
            visit: score.visit(),
            session_end_ms: deadline_ms,
        },
        Event::Ended {
            visit: score.visit(),
            how: End::Left,
        },
    ];
    for (epoch, event) in (2..).zip(firsts) {
        for change in &visit {
            let mut change = *change;
            change.version.epoch = epoch;
            written(backup, &shelf, &change).await;
        }
        let mut later = change(id, 100, event);
        later.version.epoch = epoch;
        written(backup, &shelf, &later).await;
        let read = backup.entry(&shelf, id).await.expect("an answer");
        assert_eq!(
            read,
            Record::after(None, &later, shelf.retain_hours),
            "after {event:?}"
        );
        let mut over = change(
            id,
            200,
            Event::Ended {
                visit: score.visit(),
                how: End::Left,
            },
        );
        over.version.epoch = epoch;
        written(backup, &shelf, &over).await;
    }
}

async fn a_place_is_written_where_no_other_visit_stands(backup: &dyn Backup) {
    for event in 0..3 {
        let (shelf, mut visit) = (fresh_shelf(), one_visit());
        let (id, score) = (visit[0].id, place(7));
        let session_end_ms = now_ms() + 60_000;
        let events = [
            Event::Entered { score },
            Event::FastTracked {
                score,
                session_end_ms,
            },
            Event::Claimed {
                visit: score.visit(),
                session_end_ms,
            },
        ];
        let end = visit.pop().expect("six");
        let new = change(id, 100, events[event]);
        let write = async |change: &Change| backup.write_place(&shelf, change).await.expect("an answer");
        for change in &visit {
            written(backup, &shelf, change).await;
            let stands = backup
                .entry(&shelf, id)
                .await
                .expect("an answer")
                .expect("an entry");
            assert_eq!(
                write(&new).await,
                Placing::Taken(stands.clone()),
                "over {:?}",
                change.event
            );
            let read = backup.entry(&shelf, id).await.expect("an answer");
            assert_eq!(read, Some(stands), "nothing was written");
        }
        // The same visit is none in the way, and what is late changes nothing.
        assert_eq!(write(&visit[0]).await, Placing::Written(Written::Older));
        written(backup, &shelf, &end).await;
        let mut late = new;
        late.version.v = 5;
        let ended = backup.entry(&shelf, id).await.expect("an answer");
        assert_eq!(write(&late).await, Placing::Written(Written::Older));
        assert_eq!(backup.entry(&shelf, id).await.expect("an answer"), ended);
        // What is over is no obstacle, nor is nothing at all.
        let alone = Record::after(None, &new, shelf.retain_hours).expect("something");
        for shelf in [&shelf, &fresh_shelf()] {
            let placed = backup.write_place(shelf, &new).await.expect("an answer");
            assert_eq!(placed, Placing::Written(Written::Stored(alone.clone())));
            assert_eq!(
                backup.entry(shelf, id).await.expect("an answer"),
                Some(alone.clone())
            );
        }
    }
}

async fn of_two_writers_the_later_change_wins(backup: &dyn Backup) {
    for _ in 0..10 {
        let (shelf, visit) = (fresh_shelf(), one_visit());
        let last = visit.last().expect("six");
        let all = visit
            .iter()
            .chain(&visit)
            .map(|change| backup.write(&shelf, change));
        for outcome in futures_util::future::join_all(all).await {
            outcome.expect("written");
        }
        let read = backup
            .entry(&shelf, last.id)
            .await
            .expect("an answer")
            .expect("an entry");
        assert_eq!((read.state, read.version), (State::Completed, last.version));
        assert_eq!(read.ended_at_ms, Some(last.at_ms));
    }
}

/// Two hundred entries, in all states, on a shelf and, other ones, on its neighbours.
pub(super) async fn the_live_entries_are_exactly_the_live_ones(backup: &dyn Backup) {
    let shelf = fresh_shelf();
    let next_generation = Shelf {
        generation: 2,
        ..shelf.clone()
    };
    let neighbours = [fresh_shelf(), next_generation];
    let mut live = HashMap::new();
    for step in 0..6 {
        let visits: Vec<_> = (0..35).map(|_| one_visit()).collect();
        for so_far in 0..=step {
            let changes: Vec<_> = visits.iter().map(|visit| visit[so_far]).collect();
            write_all(backup, &shelf, &changes).await;
        }
        let records = visits.iter().filter_map(|visit| folded(&shelf, &visit[..=step]));
        live.extend(
            records
                .filter(|record| record.state.is_live())
                .map(|record| (record.id, record)),
        );
        for neighbour in &neighbours {
            written(backup, neighbour, &one_visit()[0]).await;
        }
    }
    assert_eq!(live.len(), 5 * 35);
    let mut found = 0;
    for shard in 0..SHARDS {
        for record in backup.live_entries(&shelf, shard).await.expect("an answer") {
            assert_eq!(record.id.shard(), shard);
            assert_eq!(live.get(&record.id), Some(&record));
            found += 1;
        }
    }
    assert_eq!(found, live.len(), "each of them once");
}

async fn many_changes_at_once_are_all_written(backup: &dyn Backup) {
    let shelf = fresh_shelf();
    let changes: Vec<_> = (0..1_000).map(|_| one_visit()[0]).collect();
    for _ in 0..2 {
        // The second time changes nothing.
        write_all(backup, &shelf, &changes).await;
    }
    let mut found = 0;
    for shard in 0..SHARDS {
        found += backup.live_entries(&shelf, shard).await.expect("an answer").len();
    }
    assert_eq!(found, changes.len());
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

pub(super) fn stored(settings: &Value) -> StoredQueue {
    StoredQueue {
        settings: map(settings).into(),
        settings_order: 4,
        line: LinePart {
            epoch: 3,
            generation: 2,
            min_epoch: 2,
            salt: Salt::new([9; 32]),
            fence: 17,
            lease: Some(Lease {
                holder: Uuid::from_u128(5),
                until_ms: 1_700_000_000_000,
            }),
        },
    }
}

async fn a_queue_is_created_once(backup: &dyn Backup) {
    let queue = fresh_queue();
    assert_eq!(backup.queue(&queue).await.expect("an answer"), None);
    assert!(!backup.queues().await.expect("an answer").contains(&queue));
    let first = stored(&json!({ "capacity": 7 }));
    assert!(backup.create_queue(&queue, &first).await.expect("an answer"));
    let second = stored(&json!({ "capacity": 8 }));
    assert!(!backup.create_queue(&queue, &second).await.expect("an answer"));
    assert_eq!(backup.queue(&queue).await.expect("an answer"), Some(first));
    let all = backup.queues().await.expect("an answer");
    assert_eq!(all.iter().filter(|found| **found == queue).count(), 1);
}

async fn settings_are_replaced_only_where_they_are_as_expected(backup: &dyn Backup) {
    let queue = fresh_queue();
    let [before, after, other] = [1, 2, 3].map(|capacity| map(&json!({ "capacity": capacity })));
    let replace = async |expected: &Map<String, Value>, settings: &Map<String, Value>| {
        let expected = expected.clone().into();
        backup.replace_settings(&queue, &expected, settings).await
    };
    assert_eq!(
        replace(&before, &after).await.expect("an answer"),
        None,
        "no such queue"
    );
    assert_eq!(
        backup.queue(&queue).await.expect("an answer"),
        None,
        "and none comes of it"
    );

    let created = stored(&json!({ "capacity": 1 }));
    backup.create_queue(&queue, &created).await.expect("an answer");
    assert_eq!(replace(&before, &after).await.expect("an answer"), Some(5));
    assert_eq!(
        replace(&before, &after).await.expect("an answer"),
        Some(5),
        "an answer was lost"
    );
    assert_eq!(
        replace(&before, &other).await.expect("an answer"),
        None,
        "changed in between"
    );
    assert_eq!(replace(&after, &before).await.expect("an answer"), Some(6));
    assert_eq!(replace(&before, &after).await.expect("an answer"), Some(7));
    let read = backup.queue(&queue).await.expect("an answer").expect("the queue");
    assert_eq!(
        read,
        StoredQueue {
            settings: after.into(),
            settings_order: 7,
            ..created
        }
    );
}

async fn settings_read_back_as_they_were_written(backup: &dyn Backup) {
    for settings in [
        json!({}),
        Value::Object(Settings::default().to_map()),
        json!({ "capacity": "7", "batch": " 3 ", "paused": "true", "message": "곧 시작합니다", "target_url": "" }),
        json!({ "odd": [1, -2, 1.5, "x", null, { "deep": true }], "large": u64::MAX }),
    ] {
        let (queue, created) = (fresh_queue(), stored(&settings));
        backup.create_queue(&queue, &created).await.expect("an answer");
        assert_eq!(backup.queue(&queue).await.expect("an answer"), Some(created));
    }
}

async fn it_answers_a_ping(backup: &dyn Backup) {
    backup.ping().await.expect("an answer");
}

/// A change of one visitor: any event of one of three visits, in any order, at any version.
fn any_change() -> impl Strategy<Value = (u8, usize, u32, u64)> {
    (0..9_u8, 0..3_usize, 0..2_u32, 0..12_u64)
}

/// Any sequence of changes of one visitor, right or wrong, leaves what [`Record::after`] makes of it.
fn any_sequence_leaves_what_the_rules_make_of_it(runtime: &Runtime, backup: &dyn Backup, cases: u32) {
    let scores = [0, 1, 2].map(place);
    let now_ms = now_ms();
    let to_change = |id, (kind, nth, epoch, v): (u8, usize, u32, u64)| {
        let score: vestibule::domain::score::WaitScore = scores[nth];
        let (visit, until_ms) = (score.visit(), now_ms + 100_000 + v);
        let event = match kind {
            0 => Event::Entered { score },
            1 => Event::FastTracked {
                score,
                session_end_ms: until_ms,
            },
            2 => Event::Promoted {
                score,
                claim_by_ms: until_ms,
            },
            3 => Event::Claimed {
                visit,
                session_end_ms: until_ms,
            },
            4 => Event::Extended {
                visit,
                session_end_ms: until_ms,
            },
            5 => Event::Ended {
                visit,
                how: End::Completed,
            },
            6 => Event::Ended {
                visit,
                how: End::Left,
            },
            7 => Event::Ended {
                visit,
                how: End::Expired,
            },
            _ => Event::StillReady {
                visit,
                claim_by_ms: until_ms,
            },
        };
        Change {
            id,
            version: Version { epoch, v },
            at_ms: now_ms + v,
            event,
        }
    };
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let sequences = prop::collection::vec(any_change(), 1..14);
    let tried = TestRunner::new(config).run(&sequences, |sequence| {
        // Another visitor each time, also while a failing sequence is made shorter.
        let (shelf, id) = (fresh_shelf(), fresh_id());
        runtime.block_on(async {
            let mut standing = None;
            for change in sequence.into_iter().map(|drawn| to_change(id, drawn)) {
                let after = Record::after(standing.as_ref(), &change, shelf.retain_hours);
                let passed_over = || Written::passed_over(standing.as_ref(), &change);
                let expected = after.clone().map_or_else(passed_over, Written::Stored);
                let found = backup
                    .write(&shelf, &change)
                    .await
                    .map_err(|e| TestCaseError::fail(e.to_string()))?;
                prop_assert_eq!(found, expected, "on {:?}", change);
                standing = after.or(standing);
            }
            let read = backup
                .entry(&shelf, id)
                .await
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(read, standing);
            Ok(())
        })
    });
    tried.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn any_sequence_on_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let backup = FileBackup::open(directory.path().join("store")).expect("a store");
    any_sequence_leaves_what_the_rules_make_of_it(&Runtime::new().expect("a runtime"), &backup, 256);
}

#[test]
fn any_sequence_on_dynamodb() {
    let runtime = Runtime::new().expect("a runtime");
    let backup = runtime.block_on(servers::dynamodb());
    any_sequence_leaves_what_the_rules_make_of_it(&runtime, &backup, 100);
}
