//! What a person reads and can press in the widget.

// A test gives each value once.
#![allow(clippy::needless_pass_by_value)]

use serde_json::{Value, json};

use super::*;

const ARN: &str = "arn:aws:lambda:eu-west-1:123456789012:function:shop-widget";

fn row(queue: &str, state: &str) -> Value {
    json!({
        "queue": queue, "now_ms": 1_800_000_000_000_u64, "state": state, "mode": "fifo", "waiting": 12_480,
        "called": 38, "present": 30, "absent": 4, "ready": 20, "active": 462, "held": 1, "capacity": 500,
        "batch": 20, "interval_seconds": 10, "estimated_wait_seconds": { "low": 3_000, "high": 3_600 }, "completed": 8_214,
    })
}

fn overview(rows: &[Value]) -> Overview {
    Overview::from_answer(&json!({ "ok": true, "result": { "queues": rows } }))
}

fn chosen(row: &Value, message: Value) -> Chosen {
    let mut stats = row.clone();
    stats["totals"] = json!({ "completed": 8_214, "no_shows": 531, "left": 214, "expired": 9 });
    let stats = json!({ "ok": true, "result": stats });
    let description = json!({ "ok": true, "result": { "revision": "abcd", "settings": { "interval_seconds": 10, "message": message } } });
    Chosen::from_answers(row["queue"].as_str().expect("an id"), &stats, &description)
}

fn rendered(event: &Value, state: &str, message: Value, outcome: Option<&Outcome>) -> String {
    let row = row("TIMEDEAL:1", state);
    let chosen = chosen(&row, message);
    let endpoints = Endpoints::from_invoked(ARN);
    render(
        &Call::from_event(event),
        &endpoints,
        &overview(&[row]),
        Some(&chosen),
        outcome,
    )
}

/// The actions of the page: the endpoint, the question and the event of each.
fn actions(html: &str) -> Vec<(String, String, Value)> {
    let plain = |text: &str| {
        text.replace("&quot;", "\"")
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&")
    };
    let attribute = |tag: &str, name: &str| {
        let rest = tag.split_once(&format!("{name}=\"")).map(|(_, rest)| rest);
        plain(rest.and_then(|rest| rest.split('"').next()).unwrap_or_default())
    };
    html.split("<cwdb-action ")
        .skip(1)
        .map(|part| {
            let (tag, rest) = part.split_once('>').expect("the tag ends");
            let (event, _) = rest.split_once("</cwdb-action>").expect("the element ends");
            let event = serde_json::from_str(&plain(event)).expect("JSON");
            (attribute(tag, "endpoint"), attribute(tag, "confirmation"), event)
        })
        .collect()
}

#[test]
fn every_number_of_a_queue_is_shown() {
    let html = rendered(
        &json!({ "widgetContext": { "timezone": { "offsetISO": "+09:00" } } }),
        "open",
        json!(null),
        None,
    );
    for text in [
        "TIMEDEAL:1",
        "Open",
        "12,480",
        "38",
        "30 present, 4 absent",
        "20 ready to enter",
        "462 of 500",
        "20 each 10 s",
        "about 18:00",
        "8,214",
        "531 did not come",
        "no message",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
}

#[test]
fn each_state_is_a_word() {
    for (state, word) in [
        ("scheduled", "Not open yet"),
        ("open", "Open"),
        ("paused", "Paused"),
        ("draining", "Draining"),
        ("closed", "Closed"),
        ("finished", "Finished"),
    ] {
        let html = rendered(&json!({}), state, json!(null), None);
        assert!(html.contains(&format!(">{word}</span>")), "{state}");
    }
}

#[test]
fn buttons_send_confirmed_orders_to_the_alias() {
    for (state, order, other) in [("open", "pause", "resume"), ("paused", "resume", "pause")] {
        let actions = actions(&rendered(&json!({}), state, json!(null), None));
        let find = |order: &str| actions.iter().find(|(_, _, event)| event["order"] == order);
        for order in [order, "message"] {
            let (endpoint, question, event) = find(order).unwrap_or_else(|| panic!("{state}: {order}"));
            assert_eq!(*endpoint, format!("{ARN}:orders"));
            assert!(
                question.contains("TIMEDEAL:1") && question.contains('?'),
                "{question}"
            );
            assert_eq!(event["show"], "TIMEDEAL:1");
        }
        assert!(find(other).is_none(), "{state}: {other}");
    }
}

#[test]
fn choosing_a_queue_needs_no_right_to_orders() {
    let rows = [row("a", "open"), row("b", "open")];
    let chosen = chosen(&rows[0], json!(null));
    let endpoints = Endpoints::from_invoked(&format!("{ARN}:orders"));
    let html = render(
        &Call::from_event(&json!({})),
        &endpoints,
        &overview(&rows),
        Some(&chosen),
        None,
    );
    let shows: Vec<_> = actions(&html)
        .into_iter()
        .filter(|(_, _, event)| event["order"].is_null())
        .collect();
    assert_eq!(shows, [(ARN.to_owned(), String::new(), json!({ "show": "b" }))]);
}

#[test]
fn texts_of_operators_are_escaped() {
    let text = "<script>alert(1)</script>\"'&<b onclick=x>";
    let outcome = Outcome::Done(text.to_owned());
    let html = rendered(&json!({ "queue": text }), text, json!(text), Some(&outcome));
    assert!(
        !html.contains("<script") && !html.contains("<b onclick"),
        "{html}"
    );
    assert!(html.contains("&lt;script&gt;"));
    let refused = render_failure(&Call::from_event(&json!({})), None, text);
    assert!(!refused.contains("<script"), "{refused}");
    let problem = overview(&[json!({ "queue": text, "problem": text })]);
    let html = render(
        &Call::from_event(&json!({})),
        &Endpoints::from_invoked(ARN),
        &problem,
        None,
        None,
    );
    assert!(!html.contains("<script"), "{html}");
}

#[test]
fn refusals_and_doubts_are_shown() {
    for (outcome, text) in [
        (
            Outcome::Done("It is paused.".to_owned()),
            "Done. </b>It is paused.",
        ),
        (
            Outcome::Refused("Unknown queue: check".to_owned()),
            "Not done. </b>Unknown queue: check",
        ),
        (Outcome::NotAllowed, "Not done. </b>Orders go to the alias"),
        (
            Outcome::Unknown("timed out".to_owned()),
            "It is not known whether",
        ),
    ] {
        let html = rendered(&json!({}), "open", json!(null), Some(&outcome));
        assert!(html.contains(text), "{outcome:?}: {html}");
    }
}

#[test]
fn a_queue_without_numbers_hides_no_other() {
    let rows = [
        row("a", "open"),
        json!({ "queue": "b", "problem": "the line is away" }),
    ];
    let overview = overview(&rows);
    assert_eq!(overview.choose(None), Some("a"));
    let html = render(
        &Call::from_event(&json!({})),
        &Endpoints::from_invoked(ARN),
        &overview,
        None,
        None,
    );
    assert!(
        html.contains("the line is away") && html.contains("12,480"),
        "{html}"
    );
}

#[test]
fn a_thousand_queues_fit_into_the_answer() {
    let rows: Vec<_> = (0..1_000)
        .map(|number| row(&format!("TICKET:{number}"), "open"))
        .collect();
    let overview = overview(&rows);
    let chosen = chosen(&rows[0], json!("x".repeat(500)));
    let html = render(
        &Call::from_event(&json!({})),
        &Endpoints::from_invoked(ARN),
        &overview,
        Some(&chosen),
        None,
    );
    assert!(html.contains("975 more queues"));
    assert!(html.len() < 64 * 1_024, "{}", html.len());
}

#[test]
fn colours_follow_the_dashboard() {
    let dark = rendered(
        &json!({ "widgetContext": { "theme": "dark" } }),
        "open",
        json!(null),
        None,
    );
    assert!(dark.contains("class=\"vb vb-dark\""));
    let light = rendered(
        &json!({ "widgetContext": { "theme": "light" } }),
        "open",
        json!(null),
        None,
    );
    assert!(light.contains("<div class=\"vb\">"));
}

/// One text replaces those of all languages, and only the message that the person saw.
#[test]
fn the_message_says_what_it_replaces_and_goes_by_the_revision() {
    let event = json!({});
    let html = rendered(
        &event,
        "open",
        json!({ "default": "en", "en": "Wait", "ko": "대기", "de": "Warten" }),
        None,
    );
    assert!(html.contains("It replaces the texts in 3 languages."), "{html}");
    assert!(html.contains("&quot;revision&quot;:&quot;abcd&quot;"), "{html}");
    let html = rendered(&event, "open", json!("Wait"), None);
    assert!(!html.contains("It replaces"), "{html}");
}
