//! Writing the places of visitors who enter.

use vestibule_backup::{Backup, PlacePutOutcome, PutOutcome};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{Change, Event},
    record::EntryRecord,
};
use vestibule_tests::{
    entries::{change, fresh_partition, now_ms, place},
    servers,
};

use super::{put_change, visit_changes};

on_both_backups! {
    place_is_written_unless_another_visit_is_live
}

async fn place_is_written_unless_another_visit_is_live(backup: &dyn Backup) {
    for event in 0..3 {
        let (partition, mut visit) = (fresh_partition(), visit_changes());
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
        let end = visit.pop().expect("a visit has six changes");
        let new = change(id, 100, events[event]);
        let write = async |change: &Change| backup.put_place(&partition, change).await.expect("an answer");
        for change in &visit {
            put_change(backup, &partition, change).await;
            let record = backup
                .read_entry(&partition, id)
                .await
                .expect("an answer")
                .expect("an entry");
            assert_eq!(
                write(&new).await,
                PlacePutOutcome::Conflict(record.clone()),
                "after {:?}",
                change.event
            );
            let read = backup.read_entry(&partition, id).await.expect("an answer");
            assert_eq!(read, Some(record), "the record is unchanged");
        }
        // A change of the same visit is no conflict, and a late change has no effect.
        assert_eq!(
            write(&visit[0]).await,
            PlacePutOutcome::Put(PutOutcome::Superseded)
        );
        put_change(backup, &partition, &end).await;
        let mut late = new;
        late.version.v = 5;
        let ended = backup.read_entry(&partition, id).await.expect("an answer");
        assert_eq!(write(&late).await, PlacePutOutcome::Put(PutOutcome::Superseded));
        assert_eq!(backup.read_entry(&partition, id).await.expect("an answer"), ended);
        // An ended visit is no conflict, and neither is a missing record.
        let expected = EntryRecord::apply_change(None, &new, partition.retain_hours).expect("a record");
        for partition in [&partition, &fresh_partition()] {
            let outcome = backup.put_place(partition, &new).await.expect("an answer");
            assert_eq!(
                outcome,
                PlacePutOutcome::Put(PutOutcome::Stored(expected.clone()))
            );
            assert_eq!(
                backup.read_entry(partition, id).await.expect("an answer"),
                Some(expected.clone())
            );
        }
    }
}
