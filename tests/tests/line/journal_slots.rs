//! The journal holds at most one record of each entry and kind of change.

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    entry_status::EntryStatus,
    fact::{Fact, Turn},
    score::{Visit, WaitScore},
    settings::{ReEntry, Settings},
};
use vestibule_line::{JournalRecord, LeaveReason, RequeueOrder};
use vestibule_tests::{
    lines::{Backend, Subject, visitor},
    servers::connect_redis,
};

use crate::settings::three_a_second;

async fn append(subject: &Subject, change: &Change) {
    let appended = subject.line.append_to_journal(&subject.queue, change).await;
    appended.expect("the journal takes the change");
}

async fn journaled_events(subject: &Subject) -> Vec<Event> {
    let records = subject.journal().await.into_iter();
    records
        .flat_map(|record| record.changes)
        .map(|change| change.event)
        .collect()
}

/// A change of visitor 1 with this version.
fn change(v: u64, event: Event) -> Change {
    Change {
        id: visitor(1),
        version: Version { epoch: 1, v },
        at_ms: 1_788_220_800_000 + v,
        event,
        source: None,
    }
}

fn place(nth: u64) -> WaitScore {
    WaitScore::next(0, 1_788_220_800_000 + nth * 1_000)
}

fn entered(nth: u64, after: Option<Visit>) -> Event {
    Event::Entered {
        place: place(nth),
        after,
    }
}

pub(crate) async fn repeated_places_and_ends_keep_two_records(mut subject: Subject) {
    let settings = Settings {
        re_entry: ReEntry::Requeue,
        paused: true,
        ..three_a_second()
    };
    subject.open(settings).await;
    for _ in 0..50 {
        let first = subject.enter(visitor(1)).await.change.expect("a new place");
        append(&subject, &first).await;
        append(&subject, &first).await;
        let requeued = subject.enter(visitor(1)).await.change.expect("another place");
        append(&subject, &requeued).await;
        let left = subject.leave(visitor(1), LeaveReason::Leave).await;
        append(&subject, &left).await;
    }
    let last = subject.enter(visitor(1)).await.change.expect("a new place");
    append(&subject, &last).await;
    let journal = journaled_events(&subject).await;
    assert_eq!(journal.len(), 2, "{journal:?}");
    assert_eq!(journal[1], last.event);
    assert_eq!(journal[0].visit(), {
        let Event::Entered { after, .. } = last.event else {
            panic!("{last:?}");
        };
        after.expect("the visit before")
    });
}

pub(crate) async fn the_time_of_the_first_claim_stays(mut subject: Subject) {
    subject.open(three_a_second()).await;
    let visit = place(1).visit();
    let claimed = |session_end_ms| Event::Claimed {
        visit,
        session_end_ms,
    };
    let extended = |session_end_ms| Event::Extended {
        visit,
        session_end_ms,
    };
    let first = change(10, claimed(100));
    append(&subject, &first).await;
    for (v, event) in [
        (11, extended(200)),
        (12, claimed(200)),
        (13, claimed(300)),
        (14, extended(400)),
        (15, claimed(100)),
    ] {
        append(&subject, &change(v, event)).await;
    }
    let records = subject.journal().await;
    let changes: Vec<_> = records.iter().map(|record| record.changes[0]).collect();
    assert_eq!(changes, [first, change(14, extended(400))]);
    let keys: Vec<_> = records.into_iter().map(|record| record.key).collect();
    let acknowledged = subject.line.acknowledge(&subject.queue, &keys, &[]).await;
    acknowledged.expect("acknowledged");
    // The slots are free again.
    append(&subject, &change(16, claimed(300))).await;
    assert_eq!(journaled_events(&subject).await, [claimed(300)]);
}

pub(crate) async fn a_lower_fact_replaces_only_a_dropped_visit(mut subject: Subject) {
    subject.open(three_a_second()).await;
    let came_back = Event::CameBack { place: place(1) };
    append(&subject, &change(10, entered(2, None))).await;
    append(&subject, &change(9, came_back)).await;
    assert_eq!(
        journaled_events(&subject).await,
        [entered(2, None)],
        "the earlier change comes late"
    );
    // The line dropped the provisional place and went on with the visit before.
    append(&subject, &change(11, came_back)).await;
    assert_eq!(journaled_events(&subject).await, [came_back]);
    let before = entered(0, None);
    append(&subject, &change(12, before)).await;
    assert_eq!(
        journaled_events(&subject).await,
        [came_back],
        "no lower fact replaces a place that is not provisional"
    );
}

/// Without the visit that is known to be over, the backup would let that visit go on.
pub(crate) async fn a_repeated_place_keeps_the_visit_that_is_over(mut subject: Subject) {
    subject.open(three_a_second()).await;
    let over = Some(place(1).visit());
    append(&subject, &change(10, entered(2, over))).await;
    append(&subject, &change(11, entered(2, None))).await;
    assert_eq!(journaled_events(&subject).await, [entered(2, over)]);
    append(&subject, &change(12, entered(3, None))).await;
    assert_eq!(journaled_events(&subject).await, [entered(3, over)]);
}

/// Refuses all changes of a record for a minute.
async fn refuse_for_a_minute(subject: &Subject, record: &JournalRecord) {
    let order = RequeueOrder {
        key: record.key.clone(),
        untried: Vec::new(),
        rejected: record.changes.clone(),
        attempts: record.attempts + 1,
        backoff_ms: 60_000,
    };
    let requeued = subject.line.requeue_with_backoff(&subject.queue, &order).await;
    requeued.expect("an answer");
}

pub(crate) async fn a_refused_change_that_is_replaced_stays_in_backoff(mut subject: Subject) {
    subject.open(three_a_second()).await;
    let visit = place(1).visit();
    let extended = |session_end_ms| Event::Extended {
        visit,
        session_end_ms,
    };
    append(&subject, &change(10, extended(100))).await;
    refuse_for_a_minute(&subject, &subject.journal().await[0]).await;
    append(&subject, &change(11, extended(200))).await;
    append(&subject, &change(12, extended(150))).await;
    assert_eq!(journaled_events(&subject).await, []);
    assert_eq!(subject.view().await.journal_len, 1);
    subject.advance_seconds(60);
    let due = subject.journal().await;
    assert_eq!((due[0].changes[0].event, due[0].attempts), (extended(200), 1));
    assert_eq!(subject.view().await.journal_len, 1);
    // An end of another kind is not in backoff.
    let ended = Event::Ended {
        fact: Fact::ended(visit),
        how: EndReason::Left,
    };
    refuse_for_a_minute(&subject, &due[0]).await;
    append(&subject, &change(13, ended)).await;
    assert_eq!(journaled_events(&subject).await, [ended]);
}

pub(crate) async fn many_deferred_records_hide_no_due_one(mut subject: Subject) {
    subject.open(three_a_second()).await;
    let turn = |number| Change {
        id: visitor(number),
        ..change(
            10,
            Event::Promoted {
                place: place(1),
                turn: Turn::First,
                claim_by_ms: 100,
            },
        )
    };
    for number in 1..=1_100 {
        append(&subject, &turn(number)).await;
    }
    for record in subject.journal().await {
        refuse_for_a_minute(&subject, &record).await;
    }
    append(&subject, &turn(2_000)).await;
    let read = async |records_max| {
        let read = subject.line.due_journal_records(&subject.queue, records_max);
        read.await.expect("an answer")
    };
    let due = read(10).await;
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].changes, [turn(2_000)]);
    assert_eq!(subject.view().await.journal_len, 1_101);
    subject.advance_seconds(60);
    let mut seen = 0;
    while let due = read(500).await
        && !due.is_empty()
    {
        seen += due.len();
        let keys: Vec<_> = due.into_iter().map(|record| record.key).collect();
        let acknowledged = subject.line.acknowledge(&subject.queue, &keys, &[]).await;
        acknowledged.expect("acknowledged");
    }
    assert_eq!(seen, 1_101);
    assert_eq!(subject.view().await.journal_len, 0);
}

pub(crate) async fn deferred_records_outlive_the_dropped_queue(mut subject: Subject) {
    subject.open(three_a_second()).await;
    append(&subject, &change(10, entered(1, None))).await;
    refuse_for_a_minute(&subject, &subject.journal().await[0]).await;
    assert!(subject.line.drop_queue(&subject.queue, 2).await.expect("dropped"));
    let unflushed = subject.line.unflushed(&subject.queue, 10).await.expect("read");
    assert_eq!(unflushed.records.len(), 1);
    assert_eq!(unflushed.records[0].changes, [change(10, entered(1, None))]);
    let keys = [unflushed.records[0].key.clone()];
    let acknowledged = subject.line.acknowledge(&subject.queue, &keys, &[]).await;
    acknowledged.expect("acknowledged");
    let unflushed = subject.line.unflushed(&subject.queue, 10).await.expect("read");
    assert_eq!(unflushed.records, []);
}

/// A tick writes one record for many entries, which is not replaced.
pub(crate) async fn changes_of_a_tick_stay_beside_single_ones(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up(1..=3).await;
    subject.tick().await;
    let (status, claimed) = subject.claim(visitor(1)).await;
    assert!(matches!(status, EntryStatus::Active { .. }));
    append(&subject, &claimed).await;
    append(&subject, &claimed).await;
    let records = subject.journal().await;
    assert_eq!(
        records
            .iter()
            .map(|record| record.changes.len())
            .collect::<Vec<_>>(),
        [3, 1]
    );
}

/// A tick may move a thousand entries, so a hundred records of ticks would be five megabytes.
#[tokio::test]
async fn a_read_of_large_records_is_bounded_in_bytes() {
    let mut subject = Subject::new(Backend::Redis).await;
    subject.open(three_a_second()).await;
    let client = redis::Client::open(Backend::Redis.url()).expect("an address");
    let mut link = connect_redis(client).await;
    let journal = format!("vestibule:{{{}}}:journal", subject.queue);
    let mut pipe = redis::pipe();
    for _ in 0..60 {
        let large = [("event", "tick".to_owned()), ("promoted", "x".repeat(50_000))];
        pipe.cmd("XADD").arg(&journal).arg("*").arg(&large).ignore();
    }
    pipe.query_async::<()>(&mut link).await.expect("added");
    let mut reads = Vec::new();
    while reads.iter().sum::<usize>() < 60 {
        let read = subject.line.due_journal_records(&subject.queue, 100).await;
        let keys: Vec<_> = read
            .expect("an answer")
            .into_iter()
            .map(|record| record.key)
            .collect();
        let acknowledged = subject.line.acknowledge(&subject.queue, &keys, &[]).await;
        acknowledged.expect("acknowledged");
        reads.push(keys.len());
    }
    assert_eq!(reads, [21, 21, 18]);
    // One record is returned however large it is.
    let huge = [("event", "tick".to_owned()), ("promoted", "x".repeat(3_000_000))];
    let mut add = redis::cmd("XADD");
    add.arg(&journal).arg("*").arg(&huge);
    add.query_async::<String>(&mut link).await.expect("added");
    assert_eq!(subject.journal().await.len(), 1);
}
