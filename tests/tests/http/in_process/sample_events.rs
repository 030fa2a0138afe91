//! The sample events of `infra/events`, with which a reader tries the functions. `infra/events/README.md` says which
//! function each is for.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use serde_json::{Value, json};
use vestibule_tests::{
    in_process::{InProcessApi, QUEUE, local_config, send_event_to},
    markdown::{code_spans, tables},
    template::{read_api_document, read_text},
};

super::cases![
    every_sample_event_gets_the_expected_status,
    the_table_has_every_sample_event_with_its_function,
];

/// The token in the sample events. The test replaces it.
const PLACEHOLDER: &str = "00000000-0000-8000-8000-000000000000";
const FUNCTION_SECONDS_MAX: u64 = 10;

/// The names of all sample events, without `.json`.
fn file_names() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/events");
    let files = fs::read_dir(folder)
        .expect("the folder")
        .map(|file| file.expect("readable").path());
    let events = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let names = events.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    names.collect()
}

fn read_event(name: &str) -> Value {
    let text = read_text(&format!("infra/events/{name}.json"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The function that the table names for each event.
fn functions_of_events() -> BTreeMap<String, String> {
    let files = file_names();
    let page = read_text("infra/events/README.md");
    let table = tables(&page).pop().expect("a table");
    let mut functions = BTreeMap::new();
    for row in &table.rows {
        let [names, function, _] = row.as_slice() else {
            panic!("a row has three cells: {row:?}");
        };
        let function = function.split([' ', ':']).next().expect("the name of a function");
        // The first name is complete, and a later one that begins with `-` replaces its end.
        let spans: Vec<_> = names.split('`').skip(1).step_by(2).collect();
        assert_eq!(spans.len(), code_spans(names).len(), "{names}");
        let group = spans[0].split('-').next().unwrap_or_default();
        for span in spans {
            let span = span.trim_end_matches(".json");
            let name = match span.strip_prefix('-') {
                Some(end) => format!("{group}-{end}"),
                None => span.to_owned(),
            };
            let named: Vec<_> = match name.strip_suffix('*') {
                Some(beginning) => files.iter().filter(|file| file.starts_with(beginning)).collect(),
                None => files.iter().filter(|file| **file == name).collect(),
            };
            assert!(!named.is_empty(), "no sample event has the name {name}");
            for file in named {
                let earlier = functions.insert(file.clone(), function.to_owned());
                assert_eq!(earlier, None, "{file} is in two rows");
            }
        }
    }
    let listed: BTreeSet<_> = functions.keys().cloned().collect();
    assert_eq!(listed, files, "the table lists every sample event");
    functions
}

/// The function whose route the API document has for an event of the gateway, or whose form the event has.
fn function_by_content(document: &Value, event: &Value) -> String {
    if event["op"].is_string() {
        return "admin".to_owned();
    }
    if event["source"] == "aws.events" {
        return "promoter".to_owned();
    }
    if event["type"].is_string() {
        return "authorizer".to_owned();
    }
    let method = event["httpMethod"].as_str().expect("a method").to_lowercase();
    let path = event["resource"].as_str().expect("a path");
    let integration = &document["paths"][path][method]["x-amazon-apigateway-integration"];
    let uri = integration["uri"]["Fn::Sub"]
        .as_str()
        .expect("a documented route");
    let (_, function) = uri.split_once("/functions/${").expect("a function");
    let (name, _) = function.split_once("Function.Arn}").expect("its name");
    name.to_lowercase()
}

async fn the_table_has_every_sample_event_with_its_function() {
    let document = read_api_document();
    for (name, function) in functions_of_events() {
        assert_eq!(
            function_by_content(&document, &read_event(&name)),
            function,
            "{name}"
        );
    }
}

async fn every_sample_event_gets_the_expected_status() {
    let api = InProcessApi::start(json!({})).await;
    let mut functions = functions_of_events();
    functions.retain(|name, _| name.starts_with("http-"));
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
        let name = format!("http-{name}");
        let function = functions
            .remove(&name)
            .unwrap_or_else(|| panic!("no event {name}"));
        let event = read_event(&name).to_string().replace(PLACEHOLDER, &token);
        let event: Value = serde_json::from_str(&event).expect("JSON");
        if let Some(queue) = event["pathParameters"]["queue"].as_str() {
            assert_eq!(queue, QUEUE);
        }
        let routes = api
            .start_function(&function, local_config())
            .unwrap_or_else(|| panic!("{function} has no routes"));
        let response = send_event_to(&routes, &event, Duration::from_secs(FUNCTION_SECONDS_MAX)).await;
        assert_ne!(response.status, 404, "{function} has no route for {name}");
        let response = response.expect_status(status);
        if name == "http-enter" {
            response.text("token").clone_into(&mut token);
        }
    }
    assert!(functions.is_empty(), "not sent: {:?}", functions.keys());
}
