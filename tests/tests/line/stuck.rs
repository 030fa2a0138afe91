//! What the backup refuses: tried again later, and set aside in the end.

use vestibule_domain::{change::Change, id::EntryId, settings::Settings};
use vestibule_line::{
    DeadLetterOutcome, JournalLimits, JournalRecord, LeaveReason, ReportOutcome, RequeueOrder,
};
use vestibule_tests::lines::{Backend, Subject, visitor};

/// A record of a stream: its key, its fields.
type RawRecord = (String, Vec<(String, String)>);

/// The record of a tick that promoted three.
async fn a_tick(subject: &mut Subject) -> JournalRecord {
    let settings = Settings {
        capacity: 100,
        batch: 3,
        interval_seconds: 1,
        ..Settings::default()
    };
    subject.open(settings).await;
    subject.line_up(1..=9).await;
    subject.tick().await;
    subject.journal().await.remove(0)
}

async fn defer(subject: &Subject, deferral: &RequeueOrder) {
    let deferred = subject.line.requeue_with_backoff(&subject.queue, deferral).await;
    deferred.expect("an answer");
}

async fn set_aside(subject: &Subject, key: &str) -> DeadLetterOutcome {
    let done = subject.line.dead_letter(&subject.queue, key).await;
    done.expect("an answer")
}

async fn aside(subject: &Subject) -> Vec<JournalRecord> {
    let aside = subject.line.dead_lettered(&subject.queue, 100).await;
    aside.expect("an answer")
}

async fn settle(subject: &Subject, key: &str) {
    let settled = subject
        .line
        .acknowledge(&subject.queue, &[key.to_owned()], &[])
        .await;
    settled.expect("an answer");
}

fn sorted(mut changes: Vec<Change>) -> Vec<(EntryId, Change)> {
    changes.sort_by_key(|change| change.id);
    changes.into_iter().map(|change| (change.id, change)).collect()
}

pub(crate) async fn what_was_refused_is_due_again_later(mut subject: Subject) {
    let record = a_tick(&mut subject).await;
    let [untried, refused, _written] = record.changes[..] else {
        panic!("{record:?}");
    };
    let deferral = RequeueOrder {
        key: record.key,
        untried: vec![untried],
        rejected: vec![refused],
        attempts: 4,
        backoff_ms: 5_000,
    };
    defer(&subject, &deferral).await;
    // A second drainer comes to the same.
    defer(&subject, &deferral).await;
    let now = subject.journal().await;
    assert_eq!(now.len(), 1, "{now:?}");
    assert_eq!((&now[0].changes[..], now[0].attempts), (&[untried][..], 0));
    assert_eq!(
        subject.view().await.journal_len,
        2,
        "what is not due counts all the same"
    );

    subject.advance_seconds(1);
    subject.tick().await;
    let behind = subject.journal().await;
    assert_eq!(behind.len(), 2, "it keeps nothing behind it");
    assert!(behind.iter().all(|record| record.attempts == 0));
    subject.advance_ms(3_999);
    assert_eq!(subject.journal().await, behind);
    subject.advance_ms(1);
    let due = subject.journal().await;
    let again: Vec<_> = due.iter().filter(|record| record.attempts > 0).collect();
    assert_eq!(again.len(), 1, "{due:?}");
    assert_eq!((&again[0].changes[..], again[0].attempts), (&[refused][..], 4));
    // Also where only a few are asked for.
    subject.acknowledge_journal(&[]).await;
    assert_eq!(subject.view().await.journal_len, 0);
}

pub(crate) async fn a_read_goes_on_past_what_is_not_due(mut subject: Subject) {
    let record = a_tick(&mut subject).await;
    let deferral = RequeueOrder {
        key: record.key,
        untried: Vec::new(),
        rejected: record.changes,
        attempts: 1,
        backoff_ms: 60_000,
    };
    defer(&subject, &deferral).await;
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

pub(crate) async fn the_rest_of_a_tick_is_as_it_was(mut subject: Subject) {
    a_tick(&mut subject).await;
    subject.claim(visitor(1)).await;
    subject.acknowledge_journal(&[]).await;
    subject.advance_seconds(300);
    subject.tick().await;
    let record = subject.journal().await.remove(0);
    assert_eq!(record.changes.len(), 6, "three are over and three promoted");
    let (written, rest) = record.changes.split_at(1);
    let deferral = RequeueOrder {
        key: record.key.clone(),
        untried: rest.to_vec(),
        rejected: Vec::new(),
        attempts: 0,
        backoff_ms: 0,
    };
    defer(&subject, &deferral).await;
    let left = subject.journal().await;
    assert_eq!(left.len(), 1, "one record, as before");
    assert_eq!(sorted(left[0].changes.clone()), sorted(rest.to_vec()));
    assert!(!left[0].changes.contains(&written[0]));
}

pub(crate) async fn what_is_set_aside_is_kept_until_the_backup_has_it(subject: Subject) {
    let limits = JournalLimits {
        dead_letters: 2,
        ..JournalLimits::default()
    };
    let mut subject = subject.with_journal_limits(limits);
    let record = a_tick(&mut subject).await;
    assert_eq!(set_aside(&subject, &record.key).await, DeadLetterOutcome::Moved);
    assert_eq!(
        set_aside(&subject, &record.key).await,
        DeadLetterOutcome::AlreadyHandled
    );
    let kept = aside(&subject).await;
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].changes, record.changes);
    let view = subject.view().await;
    assert_eq!((view.journal_len, view.dead_letters), (0, 1));
    assert!(matches!(
        subject
            .line
            .take_report(&subject.queue, crate::report::EACH_10_SECONDS)
            .await,
        Ok(ReportOutcome::Due(report)) if report.dead_letters == 1
    ));

    // An end that is aside is no less an end.
    let left = subject.leave(visitor(9), LeaveReason::Leave).await;
    subject
        .line
        .append_to_journal(&subject.queue, &left)
        .await
        .expect("recorded");
    let key = subject.journal().await.remove(0).key;
    assert_eq!(set_aside(&subject, &key).await, DeadLetterOutcome::Moved);
    let end = subject.line.unsettled_end(&subject.queue, visitor(9)).await;
    assert_eq!(end.expect("an answer"), Some(left));

    // There is no room for more: it stays where it is.
    subject.advance_seconds(1);
    subject.tick().await;
    let third = subject.journal().await.remove(0);
    assert_eq!(set_aside(&subject, &third.key).await, DeadLetterOutcome::Full);
    assert_eq!(subject.journal().await, std::slice::from_ref(&third));

    for kept in aside(&subject).await {
        settle(&subject, &kept.key).await;
    }
    let view = subject.view().await;
    assert_eq!(
        (view.journal_len, view.dead_letters),
        (1, 0),
        "of the journal none is dropped"
    );
    settle(&subject, &third.key).await;
    assert_eq!(subject.view().await.journal_len, 0);
}

pub(crate) async fn what_is_due_later_is_in_the_whole_journal(mut subject: Subject) {
    let tick = a_tick(&mut subject).await;
    let deferral = RequeueOrder {
        key: tick.key.clone(),
        untried: tick.changes[..1].to_vec(),
        rejected: tick.changes[1..].to_vec(),
        attempts: 1,
        backoff_ms: 60_000,
    };
    defer(&subject, &deferral).await;
    let whole = async |most| {
        let whole = subject.line.journal_records(&subject.queue, most).await;
        let records = whole.expect("an answer").into_iter();
        records.flat_map(|record| record.changes).collect::<Vec<_>>()
    };
    assert_eq!(subject.journal().await.len(), 1);
    assert_eq!(sorted(whole(100).await), sorted(tick.changes.clone()));
    assert_eq!(whole(2).await.len(), 2);
    assert_eq!(whole(0).await, []);
}

/// Whoever wrote it: the records behind it are read, and it is kept word for word.
#[tokio::test]
async fn a_record_that_makes_no_sense_keeps_no_other_from_being_read() {
    let mut subject = Subject::new(Backend::Redis).await;
    let record = a_tick(&mut subject).await;
    let client = redis::Client::open(Backend::Redis.url()).expect("an address");
    let mut link = client
        .get_multiplexed_async_connection()
        .await
        .expect("the server answers");
    let key = |name: &str| format!("vestibule:{{{}}}:{name}", subject.queue);
    let nonsense = [("event", "tick"), ("promoted", "nobody"), ("v", "-1")];
    let written: Result<String, _> = redis::cmd("XADD")
        .arg(key("journal"))
        .arg("*")
        .arg(&nonsense)
        .query_async(&mut link)
        .await;
    written.expect("written");
    subject.advance_seconds(1);
    subject.tick().await;

    let journal = subject.journal().await;
    assert_eq!(journal.len(), 3);
    assert_eq!(journal[0], record);
    assert!(journal[1].parse_error.is_some() && journal[1].changes.is_empty());
    assert_eq!(journal[2].changes.len(), 3);
    assert_eq!(
        set_aside(&subject, &journal[1].key).await,
        DeadLetterOutcome::Moved
    );
    let kept: Vec<RawRecord> = redis::cmd("XRANGE")
        .arg(key("aside"))
        .arg(&["-", "+"])
        .query_async(&mut link)
        .await
        .expect("read");
    let nonsense = nonsense.map(|(field, value)| (field.to_owned(), value.to_owned()));
    assert_eq!(kept[0].1, nonsense);
    assert!(aside(&subject).await[0].parse_error.is_some());
    assert_eq!(subject.view().await.dead_letters, 1);
}
