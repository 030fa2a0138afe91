//! Tests of the entry records.

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

use super::{apply_all, put_change, visit_changes};

on_both_backups! {
    change_reads_back
    late_changes_add_missing_times_and_nothing_else
    later_visit_replaces_the_earlier_record
    later_change_wins_among_concurrent_writers
    live_entries_are_listed_exactly_once
    batch_writes_all_of_1000_changes
}

async fn change_reads_back(backup: &dyn Backup) {
    let (partition, visit) = (fresh_partition(), visit_changes());
    assert_eq!(
        backup
            .read_entry(&partition, visit[0].id)
            .await
            .expect("an answer"),
        None
    );
    for count in 1..=visit.len() {
        let expected = apply_all(&partition, &visit[..count]).expect("a record");
        let change = &visit[count - 1];
        assert_eq!(
            put_change(backup, &partition, change).await,
            PutOutcome::Stored(expected.clone())
        );
        let read = backup.read_entry(&partition, change.id).await.expect("an answer");
        assert_eq!(read, Some(expected), "after {:?}", change.event);
    }
}

async fn late_changes_add_missing_times_and_nothing_else(backup: &dyn Backup) {
    let (partition, visit) = (fresh_partition(), visit_changes());
    let last = visit.len() - 1;
    put_change(backup, &partition, &visit[0]).await;
    let PutOutcome::Stored(mut record) = put_change(backup, &partition, &visit[last]).await else {
        panic!("the last change was not stored");
    };
    let (state, version, expires_at_ms) = (record.state, record.version, record.expires_at_ms);
    assert_eq!(record.promoted_at_ms, None, "the promotion is not written yet");
    for late in visit.iter().chain(&visit) {
        let filled = EntryRecord::apply_change(Some(&record), late, partition.retain_hours);
        let expected = filled.clone().map_or(PutOutcome::Superseded, PutOutcome::Stored);
        assert_eq!(
            put_change(backup, &partition, late).await,
            expected,
            "{:?}",
            late.event
        );
        record = filled.unwrap_or(record);
        let read = backup.read_entry(&partition, late.id).await.expect("an answer");
        assert_eq!(read.as_ref(), Some(&record));
        assert_eq!(
            (record.state, record.version, record.expires_at_ms),
            (state, version, expires_at_ms)
        );
    }
    assert_eq!(
        record.promoted_at_ms,
        Some(visit[1].at_ms),
        "the late promotion adds its time"
    );
    // A late change of an earlier epoch is older, however high its version is.
    let mut of_last_epoch = visit[1];
    of_last_epoch.version = Version {
        epoch: 0,
        v: u64::from(u32::MAX),
    };
    assert_eq!(
        put_change(backup, &partition, &of_last_epoch).await,
        PutOutcome::Superseded
    );
}

async fn later_visit_replaces_the_earlier_record(backup: &dyn Backup) {
    let (partition, visit) = (fresh_partition(), visit_changes());
    let (id, score) = (visit[0].id, place(7));
    let deadline_ms = now_ms() + 60_000;
    // Any event may be the first that the backup receives of the later visit.
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
            put_change(backup, &partition, &change).await;
        }
        let mut later = change(id, 100, event);
        later.version.epoch = epoch;
        put_change(backup, &partition, &later).await;
        let read = backup.read_entry(&partition, id).await.expect("an answer");
        assert_eq!(
            read,
            EntryRecord::apply_change(None, &later, partition.retain_hours),
            "after {event:?}"
        );
        let mut end = change(
            id,
            200,
            Event::Ended {
                visit: score.visit(),
                how: EndReason::Left,
            },
        );
        end.version.epoch = epoch;
        put_change(backup, &partition, &end).await;
    }
}

async fn later_change_wins_among_concurrent_writers(backup: &dyn Backup) {
    for _ in 0..10 {
        let (partition, visit) = (fresh_partition(), visit_changes());
        let last = visit.last().expect("a visit has six changes");
        let all = visit
            .iter()
            .chain(&visit)
            .map(|change| backup.put_change(&partition, change));
        for outcome in futures_util::future::join_all(all).await {
            outcome.expect("written");
        }
        let read = backup
            .read_entry(&partition, last.id)
            .await
            .expect("an answer")
            .expect("an entry");
        assert_eq!((read.state, read.version), (EntryState::Completed, last.version));
        assert_eq!(read.ended_at_ms, Some(last.at_ms));
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
    for step in 0..6 {
        let visits: Vec<_> = (0..35).map(|_| visit_changes()).collect();
        for count in 0..=step {
            let changes: Vec<_> = visits.iter().map(|visit| visit[count]).collect();
            write_all(backup, &partition, &changes).await;
        }
        let records = visits
            .iter()
            .filter_map(|visit| apply_all(&partition, &visit[..=step]));
        live.extend(
            records
                .filter(|record| record.state.is_live())
                .map(|record| (record.id, record)),
        );
        for neighbour in &neighbours {
            put_change(backup, neighbour, &visit_changes()[0]).await;
        }
    }
    assert_eq!(live.len(), 5 * 35);
    let mut found = 0;
    for shard in 0..SHARD_COUNT {
        for record in backup
            .read_live_entries(&partition, shard)
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
            .read_live_entries(&partition, shard)
            .await
            .expect("an answer")
            .len();
    }
    assert_eq!(found, changes.len());
}
