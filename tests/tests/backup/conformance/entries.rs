//! Tests of the entry records.

use std::collections::HashMap;

use vestibule_backup::{Backup, EntryPartition, PutOutcome};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    consumption::{Consumption, EarlierUse},
    fact::Turn,
    id::{SHARD_COUNT, Source},
    record::EntryRecord,
    state::EntryState,
};
use vestibule_tests::{
    entries::{change, fresh_partition, now_ms, place, write_all},
    servers,
};

use super::{BackedUpEntry, ended, put_change, record_after, visit_changes, visit_events};

on_both_backups! {
    change_reads_back
    repeated_changes_change_nothing
    late_changes_add_missing_times_and_nothing_else
    consumed_visit_keeps_the_id_of_its_use
    later_visits_keep_the_last_use
    source_of_a_visit_is_kept_until_the_next_visit
    any_change_may_be_the_first_of_a_later_visit
    version_of_a_record_never_falls
    live_entries_are_listed_exactly_once
    batch_writes_all_of_1000_changes
}

async fn change_reads_back(backup: &dyn Backup) {
    let entry = BackedUpEntry::new(backup);
    assert_eq!(entry.record().await, None);
    for (v, event) in (1..).zip(visit_events(place(0))) {
        let outcome = entry.put(v, event).await;
        let record = outcome.record();
        assert!(matches!(outcome, PutOutcome::Stored(_)), "{event:?}: {outcome:?}");
        assert_eq!((record.state, record.fact), (event.state(), event.fact()));
        assert_eq!(record.version, Version { epoch: 1, v });
    }
}

async fn repeated_changes_change_nothing(backup: &dyn Backup) {
    let (entry, events) = (BackedUpEntry::new(backup), visit_events(place(0)));
    for (nth, v) in (0..events.len()).zip(1..) {
        let before = entry.put(v, events[nth]).await.record().clone();
        for event in &events[..=nth] {
            // The repeats come from a line of a later epoch.
            let mut repeated = change(entry.id, v, *event);
            repeated.version.epoch = 2;
            let outcome = entry.put_change(&repeated).await;
            let PutOutcome::Superseded(record) = outcome else {
                panic!("{event:?} again after {:?}: {outcome:?}", events[nth]);
            };
            assert_eq!(
                (record.fact, record.state, record.version),
                (before.fact, before.state, before.version)
            );
            assert_eq!(
                (record.score, record.expires_at_ms, record.delete_at_ms),
                (before.score, before.expires_at_ms, before.delete_at_ms)
            );
        }
    }
}

async fn consumed_visit_keeps_the_id_of_its_use(backup: &dyn Backup) {
    let consumption = Consumption {
        use_id: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff".parse().expect("a UUID"),
        session_end_ms: now_ms() + 300_000,
    };
    let place = place(0);
    let end = ended(place, EndReason::Consumed(consumption));
    // The end of a known visit, and an end that is the first change of its visit that the backup gets.
    for before in [vec![Event::Entered { place, after: None }], Vec::new()] {
        let entry = BackedUpEntry::new(backup);
        for event in before {
            entry.put(1, event).await;
        }
        entry.put(2, end).await;
        let record = backup.read_entry(&entry.partition, entry.id).await;
        let record = record.expect("an answer").expect("a record");
        assert_eq!(record.state, EntryState::Completed);
        assert_eq!(record.consumption(), Some(consumption));
        assert_eq!(record.end_reason(), Some(EndReason::Consumed(consumption)));

        // Another completion of the same visit changes nothing.
        let repeat = entry.put(3, ended(place, EndReason::Completed)).await;
        assert_eq!(repeat, PutOutcome::Superseded(record));
    }
}

async fn later_visits_keep_the_last_use(backup: &dyn Backup) {
    let consumption = |use_id: &str| Consumption {
        use_id: use_id.parse().expect("a UUID"),
        session_end_ms: now_ms() + 300_000,
    };
    let one = consumption("6f9619ff-8b86-4d01-b42d-00cf4fc964ff");
    let other = consumption("0d3a5a3c-9a0e-4c3b-8d6e-1f1f6ed2b7aa");
    let places = [place(0), place(7), place(20), place(31)];
    let begin = |at: usize| Event::Entered {
        place: places[at],
        after: places[..at].last().map(|place| place.visit()),
    };
    let consumed = |at: usize, how| ended(places[at], EndReason::Consumed(how));
    let kept = |at: usize, consumption| EarlierUse {
        visit: places[at].visit(),
        consumption,
    };
    let entry = BackedUpEntry::new(backup);
    let used_after = async |v, event| {
        let outcome = entry.put(v, event).await;
        outcome.record().uses().collect::<Vec<_>>()
    };
    assert_eq!(used_after(1, begin(0)).await, []);
    assert_eq!(used_after(2, consumed(0, one)).await, [kept(0, one)]);
    assert_eq!(used_after(3, begin(1)).await, [kept(0, one)]);
    assert_eq!(
        used_after(4, ended(places[1], EndReason::Left)).await,
        [kept(0, one)]
    );
    // The third visit begins in the backup before the second one's late end, which was no use, and the fourth before the
    // third one's, which was.
    assert_eq!(used_after(6, begin(2)).await, [kept(0, one)]);
    assert_eq!(
        used_after(5, ended(places[1], EndReason::Completed)).await,
        [kept(0, one)]
    );
    assert_eq!(used_after(8, begin(3)).await, [kept(0, one)]);
    assert_eq!(used_after(7, consumed(2, other)).await, [kept(2, other)]);
    // An earlier use takes no later one's place, and a line that had lost the last visit gives no use to an earlier one.
    assert_eq!(used_after(2, consumed(0, one)).await, [kept(2, other)]);
    let entry = BackedUpEntry::new(backup);
    entry.put(1, begin(1)).await;
    let late = entry.put(2, consumed(0, one)).await;
    assert_eq!(late.record().uses().count(), 0);
}

async fn source_of_a_visit_is_kept_until_the_next_visit(backup: &dyn Backup) {
    let source: Option<Source> = "k3rT0pW9x_Q".parse().ok();
    assert!(source.is_some());
    let (first, second) = (place(0), place(7));
    let entry = BackedUpEntry::new(backup);
    for (v, event) in (1..).zip(visit_events(first)) {
        let of_event = source.filter(|_| v == 1);
        let change = Change {
            source: of_event,
            ..change(entry.id, v, event)
        };
        let outcome = entry.put_change(&change).await;
        assert_eq!(outcome.record().source, source, "{event:?}");
    }
    // A visit that began before this release, or whose address nothing named, has no source.
    let entered = Event::Entered {
        place: second,
        after: None,
    };
    assert_eq!(entry.put(20, entered).await.record().source, None);
    // The first change may come late. It still tells the source.
    let late = Change {
        source,
        ..change(entry.id, 20, entered)
    };
    assert_eq!(entry.put_change(&late).await.record().source, source);
    let read = backup
        .read_recent_entries(&entry.partition, entry.id.shard())
        .await;
    assert_eq!(
        read.expect("an answer"),
        [entry.record().await.expect("a record")]
    );
    let end = entry.put(21, ended(second, EndReason::Evicted)).await;
    assert_eq!(end.record().source, source);
    let read = backup
        .read_recent_entries(&entry.partition, entry.id.shard())
        .await;
    assert_eq!(
        read.expect("an answer").len(),
        1,
        "entries that have ended are read, too"
    );
}

async fn late_changes_add_missing_times_and_nothing_else(backup: &dyn Backup) {
    let (entry, place) = (BackedUpEntry::new(backup), place(0));
    let (visit, now_ms) = (place.visit(), now_ms());
    let claimed = Event::Claimed {
        visit,
        session_end_ms: now_ms + 300_000,
    };
    let PutOutcome::Stored(record) = entry.put(3, claimed).await else {
        panic!("the first change was not stored");
    };
    assert_eq!((record.score, record.promoted_at_ms), (None, None));

    let entered = entry.put(1, Event::Entered { place, after: None }).await;
    let with_place = EntryRecord {
        score: Some(place),
        ..record
    };
    assert_eq!(entered, PutOutcome::Superseded(with_place.clone()));

    let mut promoted = change(
        entry.id,
        2,
        Event::Promoted {
            place,
            turn: Turn::First,
            claim_by_ms: now_ms + 60_000,
        },
    );
    // A repeat of the promotion has a later time, which does not replace the first.
    for at_ms in [now_ms + 2, now_ms + 9] {
        promoted.at_ms = at_ms;
        let outcome = entry.put_change(&promoted).await;
        let with_times = EntryRecord {
            promoted_at_ms: Some(now_ms + 2),
            ..with_place.clone()
        };
        assert_eq!(outcome, PutOutcome::Superseded(with_times));
    }
}

async fn any_change_may_be_the_first_of_a_later_visit(backup: &dyn Backup) {
    let (earlier, later) = (place(0), place(7));
    for event in visit_events(later) {
        let entry = BackedUpEntry::new(backup);
        for (v, event) in (1..).zip(visit_events(earlier)) {
            entry.put(v, event).await;
        }
        let first = change(entry.id, 100, event);
        let outcome = entry.put_change(&first).await;
        let alone = EntryRecord::of_change(&first, entry.partition.put_rules());
        assert_eq!(
            outcome,
            PutOutcome::Stored(alone),
            "nothing of the earlier visit is left after {event:?}"
        );
    }
}

/// The version is the watermark of the line, also if a change with an earlier version states the greater fact.
async fn version_of_a_record_never_falls(backup: &dyn Backup) {
    let (entry, place) = (BackedUpEntry::new(backup), place(0));
    let events = visit_events(place);
    entry.put(10, events[4]).await;
    for (v, event, expected_v) in [
        (5, events[5], 10),
        (12, events[6], 12),
        (11, ended(place, EndReason::Left), 12),
    ] {
        let outcome = entry.put(v, event).await;
        assert!(matches!(outcome, PutOutcome::Stored(_)), "{event:?}: {outcome:?}");
        let record = outcome.record();
        assert_eq!(
            (record.fact, record.version.v),
            (event.fact(), expected_v),
            "{event:?}"
        );
    }
}

/// Writes entries in all states to one partition, and other entries to neighbouring partitions.
pub(crate) async fn live_entries_are_listed_exactly_once(backup: &dyn Backup) {
    let partition = fresh_partition();
    let next_generation = EntryPartition {
        generation: 2,
        ..partition.clone()
    };
    let neighbours = [fresh_partition(), next_generation];
    let mut live = HashMap::new();
    let mut live_steps = 0;
    for step in 0..visit_changes().len() {
        let visits: Vec<_> = (0..35).map(|_| visit_changes()).collect();
        for count in 0..=step {
            let changes: Vec<_> = visits.iter().map(|visit| visit[count]).collect();
            write_all(backup, &partition, &changes).await;
        }
        let records = visits
            .iter()
            .filter_map(|visit| record_after(&partition, &visit[..=step]));
        live_steps += usize::from(visits[0][step].fact().is_live());
        live.extend(
            records
                .filter(|record| record.state.is_live())
                .map(|record| (record.id, record)),
        );
        for neighbour in &neighbours {
            put_change(backup, neighbour, &visit_changes()[0]).await;
        }
    }
    assert_eq!(live.len(), live_steps * 35);
    let mut found = 0;
    for shard in 0..SHARD_COUNT {
        for record in backup
            .read_live_entries(&partition, shard, u64::MAX)
            .await
            .expect("an answer")
        {
            assert_eq!(record.id.shard(), shard);
            assert_eq!(live.get(&record.id), Some(&record));
            found += 1;
        }
    }
    assert_eq!(found, live.len(), "each live entry is listed once");
}

async fn batch_writes_all_of_1000_changes(backup: &dyn Backup) {
    let partition = fresh_partition();
    let changes: Vec<_> = (0..1_000).map(|_| visit_changes()[0]).collect();
    for _ in 0..2 {
        // The second round has no effect.
        write_all(backup, &partition, &changes).await;
    }
    let mut found = 0;
    for shard in 0..SHARD_COUNT {
        found += backup
            .read_live_entries(&partition, shard, u64::MAX)
            .await
            .expect("an answer")
            .len();
    }
    assert_eq!(found, changes.len());
}
