//! Every refusal of a command for what one of its fields is, word for word.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{OPERATIONS, Operation, parse::ParsedCommand};

const TOKEN: &str = "0f8fad5b-d9cb-869f-a165-70867728950e";
const SOURCE: &str = "k3rT0pW9x_Q";

/// What each field is set to, one after the other.
fn values() -> Vec<Value> {
    let texts = ["", "x", "q", "q*", "ada"].map(Value::from);
    let numbers = [
        json!(-1),
        json!(0),
        json!(1),
        json!(1.5),
        json!(10.0),
        json!(1e12),
    ];
    let rest = [json!(null), json!(true), json!([]), json!([1]), json!({})];
    texts.into_iter().chain(numbers).chain(rest).collect()
}

/// Commands of the operation that are accepted: one for each of its forms.
pub(super) fn accepted(operation: &Operation) -> Vec<Value> {
    let base = json!({ "op": operation.name, "queue": "q" });
    let forms = |forms: &[Value]| forms.iter().map(|form| with_fields(base.clone(), form)).collect();
    let op = operation.name;
    match op {
        "create" => vec![base, json!({ "op": op, "queues": ["q"] })],
        "update" => forms(&[json!({ "settings": { "batch": 1 } })]),
        "promote" => forms(&[json!({ "count": 1 }), json!({ "visitor": "ada" })]),
        "lane" => forms(&[json!({ "visitor": "ada", "lane": 1 })]),
        "evict" | "block" | "unblock" => forms(&[json!({ "visitor": "ada" }), json!({ "source": SOURCE })]),
        "inspect" => forms(&[json!({ "visitor": "ada" })]),
        "plan" => vec![
            json!({ "op": op, "tps": 1, "calls": 1, "session_seconds": 1 }),
            json!({ "op": op, "visitors": 1_000 }),
        ],
        _ if operation.field_names().contains(&"queue") => vec![base],
        _ => vec![json!({ "op": op })],
    }
}

/// Commands whose fields contradict one another.
fn contradictions() -> Vec<Value> {
    let evict = |fields: Value| with_fields(json!({ "op": "evict", "queue": "q" }), &fields);
    let crowd = |fields: Value| with_fields(json!({ "op": "plan", "visitors": 1_000 }), &fields);
    let service = json!({ "op": "plan", "tps": 10, "calls": 1.5, "session_seconds": 60 });
    vec![
        json!({}),
        json!({ "op": null }),
        json!({ "op": 1 }),
        json!({ "op": "explode" }),
        json!([]),
        json!({ "op": "create", "queue": "q", "queues": ["p"] }),
        json!({ "op": "create", "queue": 1, "queues": ["p"] }),
        json!({ "op": "create", "queues": vec!["p"; 1_001] }),
        json!({ "op": "defaults", "settings": { "batch": 1 } }),
        json!({ "op": "defaults", "prefix": "q*", "settings": {} }),
        json!({ "op": "update", "queue": "q", "settings": { "opens_at": "2026-12-24T20:00:00" } }),
        json!({ "op": "update", "queue": "q", "settings": { "opens_at": null, "opens_at_ms": 1 } }),
        json!({ "op": "finish", "queue": "q", "message": { "default": "en" } }),
        json!({ "op": "inspect", "queue": "q", "token": TOKEN, "visitor": "ada" }),
        json!({ "op": "inspect", "queue": "q", "token": TOKEN, "kind": "known" }),
        json!({ "op": "inspect", "queue": "q", "visitor": "ada", "kind": "anon" }),
        json!({ "op": "inspect", "queue": "q", "visitor": "ada", "kind": "vip" }),
        json!({ "op": "promote", "queue": "q", "count": 1, "over_pace": true }),
        json!({ "op": "promote", "queue": "q", "count": 1, "visitor": "ada" }),
        json!({ "op": "promote", "queue": "q", "kind": "known", "count": 1 }),
        json!({ "op": "block", "queue": "q" }),
        json!({ "op": "block", "queue": "q", "source": SOURCE, "token": TOKEN }),
        json!({ "op": "block", "queue": "q", "source": SOURCE, "kind": "known" }),
        evict(json!({})),
        evict(json!({ "token": TOKEN, "tokens": [TOKEN] })),
        evict(json!({ "token": TOKEN, "source": SOURCE })),
        evict(json!({ "token": TOKEN, "all": true })),
        evict(json!({ "tokens": [TOKEN], "joined_from_ms": 1 })),
        evict(json!({ "tokens": ["x"] })),
        evict(json!({ "tokens": [TOKEN], "all": true })),
        evict(json!({ "source": SOURCE, "kind": "known" })),
        crowd(json!({})),
        crowd(json!({ "tps": 1 })),
        crowd(json!({ "tps": "1" })),
        crowd(json!({ "cache": "disk" })),
        with_fields(
            service.clone(),
            &json!({ "interval_seconds": 1, "target_load": 1 }),
        ),
        with_fields(service.clone(), &json!({ "checks": 1 })),
        with_fields(service, &json!({ "calls": 1.0001 })),
        json!({ "op": "list", "caller": "a\nb" }),
    ]
}

fn with_fields(mut order: Value, fields: &Value) -> Value {
    for (name, value) in fields.as_object().expect("an object") {
        order[name] = value.clone();
    }
    order
}

/// What becomes of a command: `accepted`, or the field and the words of the refusal.
fn outcome(order: Value) -> String {
    let problem = match ParsedCommand::parse(order) {
        Ok(_) => return "accepted".to_owned(),
        Err(problem) => problem.to_value(),
    };
    let text = |name: &str| problem[name].as_str().unwrap_or("-").to_owned();
    format!("{} {}: {}", text("code"), text("field"), text("detail"))
}

/// A line for each field with each outcome: the values, the operations, and the outcome.
fn describe_all() -> String {
    let mut operations: BTreeMap<(&str, String, String), Vec<&str>> = BTreeMap::new();
    for operation in OPERATIONS {
        for base in accepted(operation) {
            assert_eq!(outcome(base.clone()), "accepted", "{base}");
            let mut add = |field, given: &str, outcome: String| {
                let of_any = outcome.replace(&format!("operation {} ", operation.name), "operation OP ");
                let ops = operations.entry((field, of_any, given.to_owned())).or_default();
                if ops.last() != Some(&operation.name) {
                    ops.push(operation.name);
                }
            };
            for &field in operation.field_names().iter().chain(&["caller", "unknown"]) {
                for value in values() {
                    let order = with_fields(base.clone(), &json!({ field: value }));
                    add(field, &value.to_string(), outcome(order));
                }
                let mut without = base.clone();
                if without
                    .as_object_mut()
                    .expect("an object")
                    .remove(field)
                    .is_some()
                {
                    add(field, "absent", outcome(without));
                }
            }
        }
    }
    let mut given: BTreeMap<(&str, Vec<&str>, String), Vec<String>> = BTreeMap::new();
    for ((field, outcome, value), ops) in operations {
        given.entry((field, ops, outcome)).or_default().push(value);
    }
    let lines = given.into_iter().map(|((field, ops, outcome), values)| {
        let ops = if ops.len() == OPERATIONS.len() {
            "all".to_owned()
        } else {
            ops.join(" ")
        };
        format!("{field} = {} | {ops} | {outcome}\n", values.join(" or "))
    });
    let contradictions = contradictions().into_iter().map(|order| {
        let shown: String = order.to_string().chars().take(120).collect();
        format!("{shown} | {}\n", outcome(order))
    });
    lines.chain(contradictions).collect()
}

/// `RECORD_REFUSALS=yes` writes the file anew.
#[test]
fn refusals_are_as_they_were() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/tests/refusals.txt");
    let now = describe_all();
    if env::var_os("RECORD_REFUSALS").is_some() {
        fs::write(&path, &now).expect("written");
    }
    let recorded = fs::read_to_string(&path).expect("recorded");
    let changed: Vec<_> = now
        .lines()
        .filter(|line| !recorded.lines().any(|old| old == *line))
        .collect();
    assert!(
        now == recorded,
        "not as recorded, such as:\n{}",
        changed.join("\n")
    );
}
