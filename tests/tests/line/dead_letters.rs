//! Changes that the backup refuses: the line requeues them with a backoff, and in the end moves their records
//! to the dead letters.

use vestibule_domain::{change::Change, id::EntryId};
use vestibule_line::{
    DeadLetterOutcome, JournalLimits, JournalRecord, LeaveReason, ReportOutcome, RequeueOrder,
};
use vestibule_tests::{
    lines::{Backend, Subject, visitor},
    servers::connect_redis,
};

use crate::settings::three_a_second;

/// A record of a stream: its key and its fields.
type RawRecord = (String, Vec<(String, String)>);

/// Opens a queue and returns the record of a tick that promoted three entries.
async fn record_of_three_promotions(subject: &mut Subject) -> JournalRecord {
    subject.open(three_a_second()).await;
    subject.line_up(1..=9).await;
    subject.tick().await;
    subject.journal().await.remove(0)
}

async fn requeue(subject: &Subject, order: &RequeueOrder) {
    let requeued = subject.line.requeue_with_backoff(&subject.queue, order).await;
    requeued.expect("an answer");
}

async fn dead_letter(subject: &Subject, key: &str) -> DeadLetterOutcome {
    let done = subject.line.dead_letter(&subject.queue, key).await;
    done.expect("an answer")
}

async fn dead_letters(subject: &Subject) -> Vec<JournalRecord> {
    let records = subject.line.dead_lettered(&subject.queue, 100).await;
    records.expect("an answer")
}

async fn acknowledge(subject: &Subject, key: &str) {
    let acknowledged = subject
        .line
        .acknowledge(&subject.queue, &[key.to_owned()], &[])
        .await;
    acknowledged.expect("an answer");
}

fn sorted_by_id(mut changes: Vec<Change>) -> Vec<(EntryId, Change)> {
    changes.sort_by_key(|change| change.id);
    changes.into_iter().map(|change| (change.id, change)).collect()
}

pub(crate) async fn a_refused_change_is_due_again_after_its_backoff(mut subject: Subject) {
    let record = record_of_three_promotions(&mut subject).await;
    let [untried, refused, _written] = record.changes[..] else {
        panic!("{record:?}");
    };
    let order = RequeueOrder {
        key: record.key,
        untried: vec![untried],
        rejected: vec![refused],
        attempts: 4,
        backoff_ms: 5_000,
    };
    requeue(&subject, &order).await;
    // A second process that flushes the journal gets the same result.
    requeue(&subject, &order).await;
    let now = subject.journal().await;
    assert_eq!(now.len(), 1, "{now:?}");
    assert_eq!((&now[0].changes[..], now[0].attempts), (&[untried][..], 0));
    assert_eq!(
        subject.view().await.journal_len,
        2,
        "a record in backoff still counts"
    );

    subject.advance_seconds(1);
    subject.tick().await;
    let behind = subject.journal().await;
    assert_eq!(behind.len(), 2, "a record in backoff does not block later ones");
    assert!(behind.iter().all(|record| record.attempts == 0));
    subject.advance_ms(3_999);
    assert_eq!(subject.journal().await, behind);
    subject.advance_ms(1);
    let due = subject.journal().await;
    let again: Vec<_> = due.iter().filter(|record| record.attempts > 0).collect();
    assert_eq!(again.len(), 1, "{due:?}");
    assert_eq!((&again[0].changes[..], again[0].attempts), (&[refused][..], 4));
    // An acknowledged record is removed.
    subject.acknowledge_journal(&[]).await;
    assert_eq!(subject.view().await.journal_len, 0);
}

pub(crate) async fn a_read_skips_records_that_are_not_due(mut subject: Subject) {
    let record = record_of_three_promotions(&mut subject).await;
    let order = RequeueOrder {
        key: record.key,
        untried: Vec::new(),
        rejected: record.changes,
        attempts: 1,
        backoff_ms: 60_000,
    };
    requeue(&subject, &order).await;
    subject.advance_seconds(1);
    subject.tick().await;
    let first = subject
        .line
        .due_journal_records(&subject.queue, 1)
        .await
        .expect("an answer");
    assert_eq!(first, subject.journal().await);
    assert_eq!((first.len(), first[0].changes.len()), (1, 3));
}

pub(crate) async fn untried_changes_of_a_tick_stay_one_record(mut subject: Subject) {
    record_of_three_promotions(&mut subject).await;
    subject.claim(visitor(1)).await;
    subject.acknowledge_journal(&[]).await;
    subject.advance_seconds(300);
    subject.tick().await;
    let record = subject.journal().await.remove(0);
    assert_eq!(
        record.changes.len(),
        6,
        "three visits expired and three entries were promoted"
    );
    let (written, rest) = record.changes.split_at(1);
    let order = RequeueOrder {
        key: record.key.clone(),
        untried: rest.to_vec(),
        rejected: Vec::new(),
        attempts: 0,
        backoff_ms: 0,
    };
    requeue(&subject, &order).await;
    let left = subject.journal().await;
    assert_eq!(left.len(), 1, "the untried changes stay one record");
    assert_eq!(sorted_by_id(left[0].changes.clone()), sorted_by_id(rest.to_vec()));
    assert!(!left[0].changes.contains(&written[0]));
}

pub(crate) async fn a_dead_letter_is_kept_until_it_is_acknowledged(subject: Subject) {
    let limits = JournalLimits {
        dead_letters: 2,
        ..JournalLimits::default()
    };
    let mut subject = subject.with_journal_limits(limits);
    let record = record_of_three_promotions(&mut subject).await;
    assert_eq!(dead_letter(&subject, &record.key).await, DeadLetterOutcome::Moved);
    assert_eq!(
        dead_letter(&subject, &record.key).await,
        DeadLetterOutcome::AlreadyHandled
    );
    let kept = dead_letters(&subject).await;
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].changes, record.changes);
    let view = subject.view().await;
    assert_eq!((view.journal_len, view.dead_letters), (0, 1));
    assert!(matches!(
        subject
            .line
            .take_report(&subject.queue, crate::reports::EACH_10_SECONDS)
            .await,
        Ok(ReportOutcome::Due(report)) if report.dead_letters == 1
    ));

    // The end in a dead letter still counts as an end.
    let left = subject.leave(visitor(9), LeaveReason::Leave).await;
    subject
        .line
        .append_to_journal(&subject.queue, &left)
        .await
        .expect("append_to_journal");
    let key = subject.journal().await.remove(0).key;
    assert_eq!(dead_letter(&subject, &key).await, DeadLetterOutcome::Moved);
    assert_eq!(subject.unsettled_ends().await, [left]);

    // The dead letters are full: the record stays in the journal.
    subject.advance_seconds(1);
    subject.tick().await;
    let third = subject.journal().await.remove(0);
    assert_eq!(dead_letter(&subject, &third.key).await, DeadLetterOutcome::Full);
    assert_eq!(subject.journal().await, std::slice::from_ref(&third));

    for kept in dead_letters(&subject).await {
        acknowledge(&subject, &kept.key).await;
    }
    let view = subject.view().await;
    assert_eq!(
        (view.journal_len, view.dead_letters),
        (1, 0),
        "acknowledging dead letters drops no journal record"
    );
    acknowledge(&subject, &third.key).await;
    assert_eq!(subject.view().await.journal_len, 0);
}

pub(crate) async fn a_change_in_backoff_is_part_of_the_whole_journal(mut subject: Subject) {
    let tick = record_of_three_promotions(&mut subject).await;
    let order = RequeueOrder {
        key: tick.key.clone(),
        untried: tick.changes[..1].to_vec(),
        rejected: tick.changes[1..].to_vec(),
        attempts: 1,
        backoff_ms: 60_000,
    };
    requeue(&subject, &order).await;
    let whole = async |most| {
        let whole = subject.line.journal_records(&subject.queue, most).await;
        let records = whole.expect("an answer").into_iter();
        records.flat_map(|record| record.changes).collect::<Vec<_>>()
    };
    assert_eq!(subject.journal().await.len(), 1);
    assert_eq!(sorted_by_id(whole(100).await), sorted_by_id(tick.changes.clone()));
    assert_eq!(whole(2).await.len(), 2);
    assert_eq!(whole(0).await, []);
}

/// The line reads the records behind an unreadable one, and keeps the unreadable one unchanged.
#[tokio::test]
async fn an_unreadable_record_does_not_block_the_journal() {
    let mut subject = Subject::new(Backend::Redis).await;
    let record = record_of_three_promotions(&mut subject).await;
    let client = redis::Client::open(Backend::Redis.url()).expect("an address");
    let mut link = connect_redis(client).await;
    let key = |name: &str| format!("vestibule:{{{}}}:{name}", subject.queue);
    let nonsense = [("event", "tick"), ("promoted", "none"), ("v", "-1")];
    let written: Result<String, _> = redis::cmd("XADD")
        .arg(key("journal"))
        .arg("*")
        .arg(&nonsense)
        .query_async(&mut link)
        .await;
    written.expect("the server accepts the record");
    subject.advance_seconds(1);
    subject.tick().await;

    let journal = subject.journal().await;
    assert_eq!(journal.len(), 3);
    assert_eq!(journal[0], record);
    assert!(journal[1].parse_error.is_some() && journal[1].changes.is_empty());
    assert_eq!(journal[2].changes.len(), 3);
    assert_eq!(
        dead_letter(&subject, &journal[1].key).await,
        DeadLetterOutcome::Moved
    );
    let kept: Vec<RawRecord> = redis::cmd("XRANGE")
        .arg(key("dead_letters"))
        .arg(&["-", "+"])
        .query_async(&mut link)
        .await
        .expect("the server returns the records");
    let nonsense = nonsense.map(|(field, value)| (field.to_owned(), value.to_owned()));
    assert_eq!(kept[0].1, nonsense);
    assert!(dead_letters(&subject).await[0].parse_error.is_some());
    assert_eq!(subject.view().await.dead_letters, 1);
}
