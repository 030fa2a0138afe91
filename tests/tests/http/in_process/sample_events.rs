//! The sample events of `infra/events`, with which a reader tries the functions.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::{Value, json};
use vestibule_tests::in_process::{InProcessApi, QUEUE};

super::cases![every_sample_event_gets_the_expected_status,];

/// The token in the sample events. The test replaces it.
const PLACEHOLDER: &str = "00000000-0000-8000-8000-000000000000";

fn read_events() -> BTreeMap<String, String> {
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

async fn every_sample_event_gets_the_expected_status() {
    let api = InProcessApi::start(json!({})).await;
    let mut events = read_events();
    let mut token = String::new();
    for (name, status) in [
        ("enter", 201),
        ("view", 200),
        ("load", 200),
        ("jwks", 200),
        ("status", 200),
        ("claim", 200),
        ("validate", 200),
        ("extend", 200),
        ("complete", 204),
        // The visit has ended already, so leaving changes nothing.
        ("leave", 204),
    ] {
        let event = events.remove(name).unwrap_or_else(|| panic!("no event {name}"));
        let event: Value = serde_json::from_str(&event.replace(PLACEHOLDER, &token)).expect("JSON");
        if let Some(queue) = event["pathParameters"]["queue"].as_str() {
            assert_eq!(queue, QUEUE);
        }
        let response = api.send_event(&event).await;
        let response = response.expect_status(status);
        if name == "enter" {
            response.text("token").clone_into(&mut token);
        }
    }
    assert!(events.is_empty(), "not sent: {:?}", events.keys());
}
