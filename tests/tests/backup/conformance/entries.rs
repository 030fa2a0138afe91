//! The records of entries.

use std::collections::HashMap;

use vestibule_backup::{Backup, EntryPartition, PutOutcome};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{EndReason, Event, Version},
    id::SHARD_COUNT,
    record::EntryRecord,
    state::EntryState,
};
use vestibule_tests::{
    entries::{change, fresh_partition, now_ms, place, write_all},
    servers,
};

use super::{folded, one_visit, written};

on_both! {
    a_change_reads_back
    repeats_and_late_arrivals_add_what_was_missing_and_change_nothing
    a_later_visit_leaves_nothing_of_an_earlier_one
    of_two_writers_the_later_change_wins
    the_live_entries_are_exactly_the_live_ones
    many_changes_at_once_are_all_written
}

async fn a_change_reads_back(backup: &dyn Backup) {
    let (shelf, visit) = (fresh_partition(), one_visit());
    assert_eq!(
        backup.read_entry(&shelf, visit[0].id).await.expect("an answer"),
        None
    );
    for so_far in 1..=visit.len() {
        let expected = folded(&shelf, &visit[..so_far]).expect("something");
        let change = &visit[so_far - 1];
        assert_eq!(
            written(backup, &shelf, change).await,
            PutOutcome::Stored(expected.clone())
        );
        let read = backup.read_entry(&shelf, change.id).await.expect("an answer");
        assert_eq!(read, Some(expected), "after {:?}", change.event);
    }
}

async fn repeats_and_late_arrivals_add_what_was_missing_and_change_nothing(backup: &dyn Backup) {
    let (shelf, visit) = (fresh_partition(), one_visit());
    let last = visit.len() - 1;
    written(backup, &shelf, &visit[0]).await;
    let PutOutcome::Stored(mut stands) = written(backup, &shelf, &visit[last]).await else {
        panic!("the last change is the latest");
    };
    let (state, version, expires_at_ms) = (stands.state, stands.version, stands.expires_at_ms);
    assert_eq!(stands.promoted_at_ms, None, "nobody said yet");
    for late in visit.iter().chain(&visit) {
        let filled = EntryRecord::apply_change(Some(&stands), late, shelf.retain_hours);
        let expected = filled.clone().map_or(PutOutcome::Superseded, PutOutcome::Stored);
        assert_eq!(written(backup, &shelf, late).await, expected, "{:?}", late.event);
        stands = filled.unwrap_or(stands);
        let read = backup.read_entry(&shelf, late.id).await.expect("an answer");
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
    assert_eq!(
        written(backup, &shelf, &of_last_epoch).await,
        PutOutcome::Superseded
    );
}

async fn a_later_visit_leaves_nothing_of_an_earlier_one(backup: &dyn Backup) {
    let (shelf, visit) = (fresh_partition(), one_visit());
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
            how: EndReason::Left,
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
        let read = backup.read_entry(&shelf, id).await.expect("an answer");
        assert_eq!(
            read,
            EntryRecord::apply_change(None, &later, shelf.retain_hours),
            "after {event:?}"
        );
        let mut over = change(
            id,
            200,
            Event::Ended {
                visit: score.visit(),
                how: EndReason::Left,
            },
        );
        over.version.epoch = epoch;
        written(backup, &shelf, &over).await;
    }
}

async fn of_two_writers_the_later_change_wins(backup: &dyn Backup) {
    for _ in 0..10 {
        let (shelf, visit) = (fresh_partition(), one_visit());
        let last = visit.last().expect("six");
        let all = visit
            .iter()
            .chain(&visit)
            .map(|change| backup.put_change(&shelf, change));
        for outcome in futures_util::future::join_all(all).await {
            outcome.expect("written");
        }
        let read = backup
            .read_entry(&shelf, last.id)
            .await
            .expect("an answer")
            .expect("an entry");
        assert_eq!((read.state, read.version), (EntryState::Completed, last.version));
        assert_eq!(read.ended_at_ms, Some(last.at_ms));
    }
}

/// Two hundred entries, in all states, on a shelf and, other ones, on its neighbours.
pub(crate) async fn the_live_entries_are_exactly_the_live_ones(backup: &dyn Backup) {
    let shelf = fresh_partition();
    let next_generation = EntryPartition {
        generation: 2,
        ..shelf.clone()
    };
    let neighbours = [fresh_partition(), next_generation];
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
    for shard in 0..SHARD_COUNT {
        for record in backup.read_live_entries(&shelf, shard).await.expect("an answer") {
            assert_eq!(record.id.shard(), shard);
            assert_eq!(live.get(&record.id), Some(&record));
            found += 1;
        }
    }
    assert_eq!(found, live.len(), "each of them once");
}

async fn many_changes_at_once_are_all_written(backup: &dyn Backup) {
    let shelf = fresh_partition();
    let changes: Vec<_> = (0..1_000).map(|_| one_visit()[0]).collect();
    for _ in 0..2 {
        // The second time changes nothing.
        write_all(backup, &shelf, &changes).await;
    }
    let mut found = 0;
    for shard in 0..SHARD_COUNT {
        found += backup
            .read_live_entries(&shelf, shard)
            .await
            .expect("an answer")
            .len();
    }
    assert_eq!(found, changes.len());
}
