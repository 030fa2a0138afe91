//! The places of those who enter.

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

use super::{one_visit, written};

on_both! {
    a_place_is_written_where_no_other_visit_stands
}

async fn a_place_is_written_where_no_other_visit_stands(backup: &dyn Backup) {
    for event in 0..3 {
        let (shelf, mut visit) = (fresh_partition(), one_visit());
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
        let write = async |change: &Change| backup.put_place(&shelf, change).await.expect("an answer");
        for change in &visit {
            written(backup, &shelf, change).await;
            let stands = backup
                .read_entry(&shelf, id)
                .await
                .expect("an answer")
                .expect("an entry");
            assert_eq!(
                write(&new).await,
                PlacePutOutcome::Conflict(stands.clone()),
                "over {:?}",
                change.event
            );
            let read = backup.read_entry(&shelf, id).await.expect("an answer");
            assert_eq!(read, Some(stands), "nothing was written");
        }
        // The same visit is none in the way, and what is late changes nothing.
        assert_eq!(
            write(&visit[0]).await,
            PlacePutOutcome::Put(PutOutcome::Superseded)
        );
        written(backup, &shelf, &end).await;
        let mut late = new;
        late.version.v = 5;
        let ended = backup.read_entry(&shelf, id).await.expect("an answer");
        assert_eq!(write(&late).await, PlacePutOutcome::Put(PutOutcome::Superseded));
        assert_eq!(backup.read_entry(&shelf, id).await.expect("an answer"), ended);
        // What is over is no obstacle, nor is nothing at all.
        let alone = EntryRecord::apply_change(None, &new, shelf.retain_hours).expect("something");
        for shelf in [&shelf, &fresh_partition()] {
            let placed = backup.put_place(shelf, &new).await.expect("an answer");
            assert_eq!(placed, PlacePutOutcome::Put(PutOutcome::Stored(alone.clone())));
            assert_eq!(
                backup.read_entry(shelf, id).await.expect("an answer"),
                Some(alone.clone())
            );
        }
    }
}
