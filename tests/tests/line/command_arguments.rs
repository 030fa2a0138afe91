//! The number of arguments of one command, which serverless caches limit.

use futures_util::StreamExt;
use redis::Client;
use vestibule_domain::settings::Settings;
use vestibule_line::{PROMOTE_CHUNK, STATUS_CHUNK};
use vestibule_tests::{
    lines::{Backend, Subject, configuration, visitor},
    servers::connect_redis,
};

use crate::{
    restore::restored_entries,
    settings::{bounded, in_turn},
};

/// `ElastiCache` Serverless refuses a command with more arguments, also within a script
/// ([its limits](https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/SupportedCommands.html)).
const ARGUMENTS_MAX: usize = 3_999;
/// More than one chunk of every operation on many entries.
const VISITORS: u64 = PROMOTE_CHUNK * 5 / 2;

/// Counts the words of a line of `MONITOR`, such as `1.5 [0 lua] "zadd" "key" "1" "member"`. Quotes within a word are
/// escaped.
fn count_words(line: &str) -> usize {
    line.matches("\" \"").count() + 1
}

/// Ticks until a tick changes nothing more at this time.
async fn tick_all(subject: &Subject) {
    while subject.tick().await.has_more {}
}

/// Many visitors pass through every state: some are promoted and do not claim, some are silent and their absences end.
async fn pass_many_visitors(subject: &mut Subject) {
    let settings = bounded(100_000, 100_000, 1);
    subject.open(in_turn(settings.clone())).await;
    subject.line_up(1..=VISITORS).await;
    let ids: Vec<_> = (1..=VISITORS).map(visitor).collect();
    for chunk in ids.chunks(STATUS_CHUNK) {
        let found = subject.line.status_many(&subject.queue, chunk).await;
        assert_eq!(found.expect("an answer").len(), chunk.len());
    }
    tick_all(subject).await;
    // The fastest visitors share milliseconds, so the line may be some seconds ahead.
    subject.advance_seconds(2 * u64::from(settings.claim_seconds));
    tick_all(subject).await;
    assert_eq!(subject.view().await.totals.no_shows, VISITORS);

    subject
        .change_settings(|settings| {
            *settings = Settings {
                absent_seconds: 300,
                ..bounded(1, 1, 1)
            }
        })
        .await;
    subject.line_up(VISITORS + 1..=2 * VISITORS).await;
    for seconds in [10; 120] {
        subject.advance_seconds(seconds);
        // A few visitors poll, so the front door works and the silence of the others counts.
        for number in (VISITORS + 50..=2 * VISITORS).step_by(100) {
            let checked_in = subject.line.check_in(&subject.queue, visitor(number)).await;
            checked_in.expect("an answer");
        }
        tick_all(subject).await;
    }
    let absences = subject.view().await.totals.absences;
    assert!(absences > PROMOTE_CHUNK / 2, "{absences} absences ended");
}

#[tokio::test]
async fn no_command_has_too_many_arguments() {
    let client = Client::open(Backend::Redis.url()).expect("an address");
    let monitor = client.get_async_monitor().await.expect("it answers");
    let counting = tokio::spawn(async move {
        let mut most = (0, String::new());
        let mut lines = monitor.into_on_message::<String>();
        while let Some(line) = lines.next().await {
            if line.contains("end-of-the-test") {
                break;
            }
            most = most.max((count_words(&line), line.chars().take(80).collect()));
        }
        most
    });

    let mut subject = Subject::new(Backend::Redis).await;
    pass_many_visitors(&mut subject).await;
    let mut changes = Vec::new();
    for record in subject.journal().await {
        changes.extend(record.changes);
    }
    subject.acknowledge_journal(&[]).await;
    let sibling = subject.sibling();
    let configuration = configuration(&Settings::default());
    let restored = sibling
        .line
        .restore(&sibling.queue, &configuration, 0, restored_entries(&changes))
        .await;
    restored.expect("restored");

    let mut operator = connect_redis(client).await;
    let mut end = redis::cmd("ECHO");
    let _: String = end
        .arg("end-of-the-test")
        .query_async(&mut operator)
        .await
        .expect("an answer");
    let (words, line) = counting.await.expect("it counted");
    println!("the longest command has {words} words: {line}");
    let chunk = usize::try_from(PROMOTE_CHUNK).expect("small");
    assert!(words > chunk, "the monitor saw the chunks");
    assert!(words <= ARGUMENTS_MAX, "{words} words: {line}");
}
