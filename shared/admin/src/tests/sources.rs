//! The command `sources`.

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_domain::{
    change::{Change, Event, Version},
    id::EntryId,
    score::Visit,
    state::EntryState,
};

use super::{AdminFixture, entry_partition};

#[tokio::test]
async fn sources_counts_the_entries_of_each_source() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 1, "session_seconds": 3_600 })).await;
    let (bad, good) = (desk.source("203.0.113.7").await, desk.source("2001:db8::1").await);
    let active = desk.enter_from("first", good).await;
    let waiting = desk.enter_many_from("bad", 5, bad).await;
    desk.enter("unknown").await;
    let polled = desk.enter_from("polled", good).await;
    desk.poll(polled).await;
    desk.run_confirmed(json!({ "op": "evict", "queue": "q", "token": waiting[4].to_string() }))
        .await;

    let shown = desk.run(json!({ "op": "sources", "queue": "q" })).await;
    assert_eq!(
        (&shown["sampled_shards"], &shown["entries_read"]),
        (&json!(64), &json!(8))
    );
    assert_eq!(shown["sources_found"], 3);
    let sources = shown["sources"].as_array().expect("a list");
    assert_eq!(sources[0]["source"], bad.to_string());
    let counts = |of: &Value, names: &[&str]| -> Vec<u64> {
        names
            .iter()
            .map(|name| of[name].as_u64().expect("a count"))
            .collect()
    };
    let names = [
        "entries",
        "present",
        "never_present",
        "active",
        "claimed",
        "ended",
    ];
    assert_eq!(counts(&sources[0], &names), [4, 0, 4, 0, 0, 1], "{shown}");
    let of_good = sources.iter().find(|of| of["source"] == good.to_string());
    assert_eq!(counts(of_good.expect("shown"), &names), [2, 1, 0, 1, 1, 0]);
    let joined = |name: &str| sources[0][name].as_u64().expect("a time");
    assert!(joined("first_joined_at_ms") <= joined("last_joined_at_ms"));
    assert!(
        sources
            .iter()
            .any(|of| of["source"].is_null() && of["entries"] == 1)
    );
    assert_eq!(desk.state_in_backup(active).await, EntryState::Active);

    let limited = desk
        .run(json!({ "op": "sources", "queue": "q", "limit": 1 }))
        .await;
    assert_eq!(limited["sources"].as_array().map(Vec::len), Some(1));
}

/// The records of a large queue are sampled, and the counts are those of the whole queue, about.
#[tokio::test]
async fn sources_of_a_large_queue_are_estimated_from_a_sample() {
    const RECORDS: u64 = 26_000;
    let desk = AdminFixture::with_queue(json!({})).await;
    let (bad, good) = (desk.source("203.0.113.7").await, desk.source("203.0.113.8").await);
    // Four of five records are of one source. The line has none of them.
    let changes: Vec<_> = (0..RECORDS)
        .map(|number| Change {
            id: fresh_id(),
            version: Version {
                epoch: 1,
                v: number + 1,
            },
            at_ms: vestibule_telemetry::clock::now_ms(),
            event: Event::Entered {
                place: Visit::new(15_250_171_156_480 + number).expect("a visit").place(),
                after: None,
            },
            source: Some(if number % 5 == 0 { good } else { bad }),
        })
        .collect();
    let until = tokio::time::Instant::now() + Duration::from_mins(10);
    let written = desk
        .backup()
        .put_changes(&entry_partition(), &changes, until)
        .await;
    assert!(written.iter().all(Result::is_ok));

    let shown = desk.run(json!({ "op": "sources", "queue": "q" })).await;
    let number = |of: &Value| of.as_u64().expect("a number");
    assert!(
        (20_000..RECORDS).contains(&number(&shown["entries_read"])),
        "{shown}"
    );
    assert!((1..64).contains(&number(&shown["sampled_shards"])));
    assert_eq!(shown["sources"][0]["source"], bad.to_string());
    for (at, expected) in [(0, RECORDS * 4 / 5), (1, RECORDS / 5)] {
        let estimated = number(&shown["sources"][at]["ended"]);
        assert!(
            estimated.abs_diff(expected) < expected / 10,
            "{estimated} of {expected}"
        );
    }
}

fn fresh_id() -> EntryId {
    let uuid = uuid::Builder::from_custom_bytes(rand::random()).into_uuid();
    uuid.to_string().parse().expect("an entry id")
}
