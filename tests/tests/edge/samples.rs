//! The events that come with the product, to try the functions with: each is answered as its name says.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::{Value, json};
use vestibule_tests::edge::{EdgeUnderTest, QUEUE};

/// What stands where a token is to be filled in.
const PLACEHOLDER: &str = "00000000-0000-8000-8000-000000000000";

fn events() -> BTreeMap<String, String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../infra/events");
    let files = fs::read_dir(folder)
        .expect("the folder")
        .map(|file| file.expect("readable").path());
    let named = files.filter_map(|path| {
        let name = path.file_stem()?.to_str()?.strip_prefix("http-")?.to_owned();
        Some((name, fs::read_to_string(&path).expect("readable")))
    });
    named.collect()
}

#[tokio::test]
async fn every_event_is_answered() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let mut events = events();
    let mut token = String::new();
    for (name, status) in [
        ("enter", 201),
        ("view", 200),
        ("load", 204),
        ("jwks", 200),
        ("status", 200),
        ("claim", 200),
        ("validate", 200),
        ("extend", 200),
        ("complete", 204),
        // What was completed is gone already: again is harmless.
        ("leave", 204),
    ] {
        let event = events.remove(name).unwrap_or_else(|| panic!("no event {name}"));
        let event: Value = serde_json::from_str(&event.replace(PLACEHOLDER, &token)).expect("JSON");
        if let Some(queue) = event["pathParameters"]["queue"].as_str() {
            assert_eq!(queue, QUEUE);
        }
        let answer = edge.send_event(&event).await;
        let answer = answer.is(status);
        if name == "enter" {
            answer.text("token").clone_into(&mut token);
        }
    }
    assert!(events.is_empty(), "nobody sent {:?}", events.keys());
}
