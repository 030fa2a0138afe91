//! A time for readers beside each time in Unix milliseconds that an answer has.

use serde_json::{Map, Value};
use vestibule_domain::iso_time::to_iso;

/// How the names of moments end. Other names in milliseconds are durations.
const MOMENTS: [&str; 6] = [
    "at_ms",
    "now_ms",
    "by_ms",
    "until_ms",
    "signs_from_ms",
    "as_of_ms",
];
/// An earlier moment is none: some fields are 0 as long as nothing has happened.
const MOMENT_MS_MIN: u64 = 1_000_000_000_000;
/// The settings of a queue. An operator may give them back as they are, and a time must not be there twice.
const SETTINGS: &str = "settings";

/// Adds to each object of an answer, beside each moment such as `joined_at_ms`, the same as a text: `joined_at`. Those of
/// settings stand beside the settings.
pub(super) fn add_iso_times(answer: &mut Value) {
    match answer {
        Value::Array(items) => items.iter_mut().for_each(add_iso_times),
        Value::Object(object) => {
            let mut added = iso_times_of(object);
            if let Some(settings) = object.get(SETTINGS).and_then(Value::as_object) {
                added.append(&mut iso_times_of(settings));
            }
            for (name, value) in object.iter_mut() {
                if !name.contains(SETTINGS) {
                    add_iso_times(value);
                }
            }
            for (name, text) in added {
                object.entry(name).or_insert(text);
            }
        }
        _ => {}
    }
}

fn iso_times_of(object: &Map<String, Value>) -> Map<String, Value> {
    let moments = object.iter().filter_map(|(name, value)| {
        let at_ms = value.as_u64().filter(|at_ms| *at_ms >= MOMENT_MS_MIN)?;
        let is_moment = MOMENTS.iter().any(|end| name.ends_with(end));
        is_moment.then(|| (name.trim_end_matches("_ms").to_owned(), to_iso(at_ms).into()))
    });
    moments.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_moment_has_a_text_beside_it_and_settings_stay_as_they_are() {
        let (at_ms, at) = (1_798_110_000_000_u64, "2026-12-24T11:00:00Z");
        let settings = json!({ "opens_at_ms": at_ms, "batch": 10 });
        let mut answer = json!({
            "settings": settings, "settings_before": { "ends_at_ms": at_ms }, "now_ms": at_ms, "sum_ms": at_ms,
            "opened_at_ms": null, "measured_at_ms": 0, "orders": [{ "at_ms": at_ms, "op": "pause" }],
        });
        add_iso_times(&mut answer);
        let expected = json!({
            "settings": settings, "settings_before": { "ends_at_ms": at_ms }, "now_ms": at_ms, "now": at, "sum_ms": at_ms,
            "opens_at": at, "opened_at_ms": null, "measured_at_ms": 0, "orders": [{ "at_ms": at_ms, "at": at, "op": "pause" }],
        });
        assert_eq!(answer, expected);
    }
}
