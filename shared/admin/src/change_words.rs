//! Who changed which settings, in words.

use serde_json::Value;
use vestibule_domain::iso_time::to_iso;

/// Says who changed each setting, in one sentence.
pub(super) fn describe_changes(changes: &[Value]) -> String {
    let said = changes.iter().map(|change| {
        let (field, by) = (text(&change["field"]), text(&change["by"]));
        let what = format!("{field} is {} now, changed", change["value"]);
        match change["at_ms"].as_u64() {
            Some(at_ms) => format!("{what} by {by} at {}", to_iso(at_ms)),
            None => format!("{what} {by}"),
        }
    });
    said.collect::<Vec<_>>().join("; ")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
