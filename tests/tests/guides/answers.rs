//! Compares an answer with the one that a page shows. There, `…` stands for anything.

use serde_json::Value;

/// The names whose values differ each time. When a client is to ask again follows from the estimate, and that from the
/// clock.
const VOLATILE: [&str; 5] = ["token", "visit", "expires_at_ms", "claim_by_ms", "retry_after_ms"];

/// Parses an answer of a page. An `…` between the members of an object becomes a member of this name.
fn parse_shown(shown: &str) -> Value {
    let shown = shown.replace(",…", ",\"…\":null").replace("{…", "{\"…\":null");
    serde_json::from_str(&shown).unwrap_or_else(|error| panic!("the page shows no JSON: {shown}: {error}"))
}

/// Asserts that the answer has all that the page shows, and no more unless the page has an `…` there.
pub(crate) fn assert_as_shown(shown: &str, answer: &str) {
    let answer: Value = serde_json::from_str(answer).unwrap_or_else(|error| panic!("{answer}: {error}"));
    compare("the answer", &parse_shown(shown), &answer);
}

fn compare(name: &str, shown: &Value, answer: &Value) {
    match (shown, answer) {
        (Value::Object(members), Value::Object(answered)) => {
            for (name, shown) in members.iter().filter(|(name, _)| *name != "…") {
                let answer = answered.get(name);
                let answer = answer.unwrap_or_else(|| panic!("the answer has no {name}: {answered:?}"));
                compare(name, shown, answer);
            }
            for name in answered.keys() {
                assert!(
                    members.contains_key("…") || members.contains_key(name),
                    "the page does not show {name}: {members:?}"
                );
            }
        }
        (Value::Array(shown), Value::Array(answer)) if shown.len() == answer.len() => {
            for (shown, answer) in shown.iter().zip(answer) {
                compare(name, shown, answer);
            }
        }
        (shown, answer) if VOLATILE.contains(&name) => {
            assert!(
                shown.is_string() == answer.is_string() && shown.is_number() == answer.is_number(),
                "{name}: the page shows {shown}, and the answer is {answer}"
            );
        }
        (Value::String(shown), Value::String(answer)) if shown.contains('…') => {
            let beginning = shown.split('…').next().unwrap_or_default();
            assert!(answer.starts_with(beginning), "{name}: {shown}, {answer}");
        }
        _ => assert_eq!(shown, answer, "{name}"),
    }
}

/// Asserts that no line of the output is a problem of the API or of a command.
pub(crate) fn assert_no_problem(command: &str, output: &str) {
    for line in output.lines() {
        if let Ok(Value::Object(answer)) = serde_json::from_str(line) {
            let is_problem = answer.contains_key("code") || answer.get("ok") == Some(&Value::Bool(false));
            assert!(!is_problem, "{command} was answered with {line}");
        }
    }
}
