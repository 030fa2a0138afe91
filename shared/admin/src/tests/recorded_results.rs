//! The result of every operation, byte for byte as `recorded_results.txt` has it. `RECORD_RESULTS=yes` writes the file anew:
//! its difference is what a change does to those who read results.

use std::{
    collections::BTreeSet,
    env, fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use vestibule_domain::load::LoadReport;
use vestibule_faults::{Fault, Faults, FaultyBackup};
use vestibule_line::{LeaveReason, Line, LineHistory, PROMOTE_CHUNK, PromoteOrder};
use vestibule_telemetry::clock::now_ms;

use super::{AdminFixture, queue};
use crate::OPERATIONS;

/// What the guide says of the results.
const DOCUMENT: &str = include_str!("../../../../docs/commands.json");

/// The members whose values depend on chance or on the build, and `commands`, which `Operation` declares.
const MASKED: [&str; 5] = ["build", "commands", "cursor", "revision", "shard"];
/// Settings of a queue have more members than this, and are masked. Other settings are those that a command names.
const NAMED_SETTINGS_MAX: usize = 10;
/// A number from here on is a moment, or counts from one, as places do.
const MOMENT_MIN: u64 = 1_000_000_000_000;

struct Scene {
    desk: AdminFixture,
    /// The time of the line, in Unix microseconds. It passes only when the scene says so.
    line_us: Arc<AtomicU64>,
    /// The source of some visitors.
    source: Option<String>,
    results: Vec<String>,
    operations: BTreeSet<String>,
}

impl Scene {
    fn new() -> Self {
        let mut desk = AdminFixture::new();
        let line_us = Arc::new(AtomicU64::new(now_ms() * 1_000));
        let clock = Arc::clone(&line_us);
        desk.admin.line = Line::in_process_with_clock(Arc::new(move || clock.load(Ordering::Relaxed)));
        Self {
            desk,
            line_us,
            source: None,
            results: Vec::new(),
            operations: BTreeSet::new(),
        }
    }

    fn pass(&self, seconds: u64) {
        self.line_us.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }

    async fn tick(&self) {
        let order = PromoteOrder {
            max_entries: PROMOTE_CHUNK,
            is_promoter: true,
            min_watermark: None,
            history: LineHistory::default(),
        };
        self.desk.line().promote(&queue(), order).await.expect("ticked");
    }

    /// Gives a command, and records its result.
    async fn run(&mut self, command: Value) {
        let result = self.desk.run(command.clone()).await;
        assert_described(&command, &result);
        self.add(&command, result);
    }

    async fn run_confirmed(&mut self, op: &str, epoch: u32) {
        let command = json!({ "op": op, "queue": "q", "confirm": "q", "epoch": epoch });
        self.run(command).await;
    }

    /// Inspects a known visitor's entry.
    async fn inspect(&mut self, visitor: &str) {
        let command = json!({ "op": "inspect", "queue": "q", "visitor": visitor });
        self.run(command).await;
    }

    fn add(&mut self, command: &Value, mut result: Value) {
        let mut shown = command.clone();
        mask(&mut shown);
        mask(&mut result);
        if let Some(entries) = result.get_mut("entries").and_then(Value::as_array_mut) {
            // Their order is that of the tokens.
            entries.sort_by_key(Value::to_string);
        }
        self.operations.extend(command["op"].as_str().map(str::to_owned));
        let recorded = format!("{shown}\n{result}");
        self.results.push(match &self.source {
            Some(source) => recorded.replace(source, "a source"),
            None => recorded,
        });
    }
}

fn mask(value: &mut Value) {
    match value {
        Value::Number(number) if number.as_u64().is_some_and(|number| number >= MOMENT_MIN) => {
            *value = json!(MOMENT_MIN);
        }
        Value::String(text) => *text = mask_words(text),
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                let is_settings = name.contains("settings")
                    && value
                        .as_object()
                        .is_some_and(|map| map.len() > NAMED_SETTINGS_MAX);
                if is_settings || (MASKED.contains(&name.as_str()) && !value.is_null()) {
                    *value = json!("masked");
                } else if let ("fields", Some(fields)) = (name.as_str(), value.as_array_mut()) {
                    // One shows the form, and all are what `FIELDS` declares.
                    fields.truncate(1);
                } else {
                    mask(value);
                }
            }
        }
        _ => {}
    }
}

/// Masks the tokens and the moments in a text.
fn mask_words(text: &str) -> String {
    let words = text.split_inclusive([',', ' ', '\n']).map(|word| {
        let bare = word.trim_end_matches([',', ' ', '"', '\r', '\n']);
        let is_moment = bare.parse().is_ok_and(|number: u64| number >= MOMENT_MIN)
            || (bare.starts_with("20") && bare.ends_with('Z'));
        if is_moment {
            word.replace(bare, "a moment")
        } else if uuid::Uuid::parse_str(bare).is_ok() {
            word.replace(bare, "a token")
        } else {
            word.to_owned()
        }
    });
    words.collect()
}

/// Asserts that the result is of one of the types that `docs/commands.json` names for the command.
fn assert_described(command: &Value, result: &Value) {
    let document: Value = serde_json::from_str(DOCUMENT).expect("the document is JSON");
    let op = command["op"].as_str().expect("an operation");
    let names = document["commands"][op]["results"].as_array().expect("types");
    let schema = |name: &Value| json!({ "$ref": format!("#/components/schemas/{}", name.as_str().unwrap_or_default()) });
    let fitting = names.iter().filter(|name| fits(&schema(name), result, &document));
    assert_eq!(
        fitting.count(),
        1,
        "{command}: {names:?} do not describe {result}"
    );
}

fn fits(schema: &Value, value: &Value, document: &Value) -> bool {
    let reference = schema["$ref"].as_str().or(schema["allOf"][0]["$ref"].as_str());
    if value.is_null() && schema["nullable"] == true {
        return true;
    }
    if let Some(name) = reference.and_then(|path| path.rsplit('/').next()) {
        return fits(&document["schemas"][name], value, document);
    }
    match (schema["type"].as_str(), value) {
        (Some("string"), Value::String(text)) => schema["enum"]
            .as_array()
            .is_none_or(|words| words.contains(&json!(text))),
        (None, _) | (Some("boolean"), Value::Bool(_)) | (Some("number"), Value::Number(_)) => true,
        (Some("integer"), Value::Number(number)) => number.is_u64() || number.is_i64(),
        (Some("array"), Value::Array(items)) => {
            items.iter().all(|item| fits(&schema["items"], item, document))
        }
        (Some("object"), Value::Object(members)) => {
            let Some(properties) = schema["properties"].as_object() else {
                return true;
            };
            // A moment stands there a second time, as a text.
            let is_described = |(name, member): (&String, &Value)| match properties.get(name) {
                Some(property) => fits(property, member, document),
                None => members.contains_key(&format!("{name}_ms")),
            };
            let required = schema["required"].as_array().into_iter().flatten();
            members.iter().all(is_described)
                && required
                    .filter_map(Value::as_str)
                    .all(|name| members.contains_key(name))
        }
        _ => false,
    }
}

#[tokio::test]
async fn the_results_are_as_they_were() {
    let mut scene = Scene::new();
    record_settings(&mut scene).await;
    record_visitors(&mut scene).await;
    record_numbers(&mut scene).await;
    record_deployment(&mut scene).await;
    record_outages(&mut scene).await;
    record_ends(&mut scene).await;

    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/tests/recorded_results.txt");
    if env::var_os("RECORD_RESULTS").is_some() {
        fs::write(&path, scene.results.join("\n\n")).expect("the folder can be written");
    }
    let recorded = fs::read_to_string(&path).expect("the file is there");
    for (now, before) in scene.results.iter().zip(recorded.split("\n\n")) {
        assert_eq!(
            now, before,
            "a result has changed: RECORD_RESULTS=yes writes it anew"
        );
    }
    assert_eq!(scene.results.join("\n\n"), recorded, "a result is missing or new");
    for operation in OPERATIONS {
        assert!(
            scene.operations.contains(operation.name),
            "{} is missing",
            operation.name
        );
    }
}

/// Queues, their defaults and their switches.
async fn record_settings(scene: &mut Scene) {
    for command in [
        json!({ "op": "defaults", "prefix": "q*", "settings": { "capacity": 3 } }),
        json!({ "op": "defaults", "prefix": "q*" }),
        json!({ "op": "defaults", "prefix": "z*" }),
        json!({ "op": "create", "queue": "q", "settings": { "batch": 2, "call_seconds": 1 } }),
        json!({ "op": "create", "queue": "q", "settings": { "batch": 2, "call_seconds": 1 } }),
        json!({ "op": "create", "queues": ["q", "p", "-", 7], "settings": { "batch": 2 } }),
        json!({ "op": "update", "queue": "q", "settings": { "batch": 1, "message": "Hello" }, "caller": "kim" }),
        json!({ "op": "update", "queue": "q", "settings": { "batch": 1 } }),
        json!({ "op": "pause", "queue": "q" }),
        json!({ "op": "resume", "queue": "q" }),
        json!({ "op": "drain", "queue": "q", "confirm": "q", "epoch": 1 }),
        json!({ "op": "open", "queue": "q" }),
        json!({ "op": "describe", "queue": "q" }),
        json!({ "op": "describe", "queue": "q", "help": true }),
    ] {
        scene.run(command).await;
    }
    let wrong = serde_json::Map::from_iter([("capacity".to_owned(), json!(0))]);
    let pattern = "x*".parse().expect("a pattern");
    let stored = scene.desk.backup().replace_defaults(&pattern, Some(&wrong)).await;
    stored.expect("stored");
    scene.run(json!({ "op": "defaults" })).await;
    scene
        .run(json!({ "op": "defaults", "prefix": "x*", "settings": null }))
        .await;
    let lost = "lost".parse().expect("a queue id");
    let stored = scene.desk.stored_queue().await;
    let created = scene.desk.backup().create_queue(&lost, &stored).await;
    assert!(created.expect("stored"));
    scene.run(json!({ "op": "list" })).await;
    scene
        .run(json!({ "op": "list", "prefix": "q", "after": "p" }))
        .await;
}

/// Entries, and what an operator does with them.
async fn record_visitors(scene: &mut Scene) {
    let source = scene.desk.source("203.0.113.7").await;
    scene.source = Some(source.to_string());
    scene.desk.enter("ada").await;
    for visitor in ["bob", "cyd", "dan"] {
        scene.desk.enter(visitor).await;
    }
    for visitor in ["eve", "fay", "gus"] {
        scene.desk.enter_from(visitor, source).await;
    }
    scene.pass(20);
    let bob = json!({ "op": "lane", "queue": "q", "visitor": "bob", "lane": 1 });
    scene.run(bob.clone()).await;
    scene.run(bob).await;
    scene.inspect("cyd").await;
    scene.inspect("ada").await;
    scene.inspect("zoe").await;
    scene
        .run(json!({ "op": "promote", "queue": "q", "count": 5 }))
        .await;
    scene
        .run(json!({ "op": "promote", "queue": "q", "visitor": "dan", "over_pace": true }))
        .await;
    scene.inspect("dan").await;
    scene.pass(3);
    scene.tick().await;
    scene.run(json!({ "op": "stats", "queue": "q" })).await;
    scene.run(json!({ "op": "list", "prefix": "q" })).await;
    scene.run(json!({ "op": "sources", "queue": "q" })).await;
    scene
        .run(json!({ "op": "block", "queue": "q", "visitor": "zoe", "caller": "kim" }))
        .await;
    scene
        .run(json!({ "op": "block", "queue": "q", "source": source.to_string(), "for_seconds": 60 }))
        .await;
    scene.inspect("zoe").await;
    scene.inspect("eve").await;
    scene.run(json!({ "op": "sources", "queue": "q" })).await;
    scene
        .run(json!({ "op": "unblock", "queue": "q", "source": source.to_string() }))
        .await;
    scene.run(json!({ "op": "entries", "queue": "q" })).await;
    scene
        .run(json!({ "op": "entries", "queue": "q", "state": "active", "limit": 1 }))
        .await;
    let mut evict = json!({ "op": "evict", "queue": "q", "source": source.to_string() });
    let problem = scene.desk.run_refused(evict.clone()).await;
    scene.add(&evict, problem);
    (evict["confirm"], evict["epoch"]) = (json!("q"), json!(1));
    scene.run(evict).await;
    let evict = json!({ "op": "evict", "queue": "q", "visitor": "dan", "confirm": "q", "epoch": 1 });
    scene.run(evict).await;
    scene.inspect("dan").await;
}

/// What the line counts.
async fn record_numbers(scene: &mut Scene) {
    let bob = scene.desk.entry_id("bob").await;
    let claimed = scene.desk.line().claim(&queue(), bob).await;
    claimed.expect("claimed");
    scene.pass(5);
    let line = scene.desk.line();
    let left = line.leave(&queue(), bob, None, LeaveReason::Complete).await;
    left.expect("completed");
    scene.run(json!({ "op": "stats", "queue": "q" })).await;
    let report = LoadReport {
        tps: Some(812),
        latency_ms: None,
        healthy: true,
    };
    let line = scene.desk.line();
    line.record_load(&queue(), &report).await.expect("kept");
    scene.pass(11);
    scene.tick().await;
    scene.inspect("dan").await;
    scene
        .run(json!({ "op": "entries", "queue": "q", "state": "evicted" }))
        .await;
    scene.run(json!({ "op": "stats", "queue": "q" })).await;
    scene.run(json!({ "op": "report", "queue": "q" })).await;
    scene
        .run(json!({ "op": "report", "queue": "q", "format": "csv" }))
        .await;
    scene.run(json!({ "op": "report", "queue": "p" })).await;
    scene.run(json!({ "op": "check", "queue": "q" })).await;
}

/// Commands that concern no queue.
async fn record_deployment(scene: &mut Scene) {
    for command in [
        json!({ "op": "preflight" }),
        json!({ "op": "plan", "tps": 1_000, "calls": 6, "session_seconds": 300 }),
        json!({ "op": "plan", "visitors": 1_000_000, "checks": 6, "cache": "node" }),
        json!({ "op": "rotate" }),
        json!({ "op": "rotate", "leaked": true }),
    ] {
        scene.run(command).await;
    }
}

/// Settings that are invalid, and a backup or a line that is away.
async fn record_outages(scene: &mut Scene) {
    scene.desk.replace_stored_settings(json!({ "batch": 0 })).await;
    let describe = json!({ "op": "describe", "queue": "q" });
    scene.run(describe.clone()).await;
    scene.run(json!({ "op": "pause", "queue": "q" })).await;
    let backup = Arc::clone(&scene.desk.admin.backup);
    let faults = Faults::default();
    scene.desk.admin.backup = FaultyBackup::new(Arc::clone(&backup), faults.clone());
    faults.fail_all(Fault::Unavailable);
    scene.run(json!({ "op": "resume", "queue": "q" })).await;
    scene
        .run(json!({ "op": "finish", "queue": "q", "message": "Bye", "confirm": "q", "epoch": 1 }))
        .await;
    scene.run(json!({ "op": "stats", "queue": "q" })).await;
    scene.desk.admin.backup = backup;
    let line = std::mem::replace(&mut scene.desk.admin.line, Line::in_process());
    scene.run(describe).await;
    scene.inspect("cyd").await;
    scene
        .run(json!({ "op": "entries", "queue": "q", "state": "waiting" }))
        .await;
    scene.desk.admin.line = line;
    scene
        .run(json!({ "op": "update", "queue": "q", "settings": { "batch": 1 } }))
        .await;
}

/// What ends a line.
async fn record_ends(scene: &mut Scene) {
    scene.run_confirmed("restore", 1).await;
    scene.run_confirmed("finish", 2).await;
    scene.run_confirmed("close", 2).await;
    scene.run_confirmed("reset", 2).await;
    scene
        .run(json!({ "op": "report", "queue": "q", "generation": 1 }))
        .await;
    scene.run_confirmed("delete", 4).await;
    scene.run_confirmed("delete", 4).await;
}
