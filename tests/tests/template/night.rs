//! The guide for the night of a sale: its orders exist, and its links lead somewhere.

use std::collections::BTreeSet;

use serde_json::Value;
use vestibule_admin::Operation;
use vestibule_tests::{markdown::code_spans, template::read_text};

const PAGES: [&str; 6] = [
    "operating",
    "commands",
    "monitoring",
    "runbooks",
    "settings",
    "deploying",
];

#[test]
fn orders_of_the_night_are_commands() {
    let guide = read_text("docs/operating.md");
    for span in code_spans(&guide) {
        if !span.starts_with("{\"op\"") {
            continue;
        }
        let event: Value = serde_json::from_str(span).unwrap_or_else(|error| panic!("{span}: {error}"));
        let op = event["op"].as_str().expect("a name");
        let operation = Operation::find(op).unwrap_or_else(|| panic!("{op} is not an operation"));
        for name in event.as_object().expect("an object").keys() {
            assert!(operation.has_field(name), "{op} has no field {name}");
        }
    }
    for part in [
        "Before", "Opening", "Too fast", "Too slow", "Attack", "Outage", "Sold out", "After",
    ] {
        assert!(guide.contains(&format!("\n## {part}\n")), "{part}");
    }
}

#[test]
fn links_between_the_guides_have_their_targets() {
    for page in PAGES {
        let text = read_text(&format!("docs/{page}.md"));
        for (_, rest) in text.match_indices("](").map(|(at, _)| text.split_at(at + 2)) {
            let target = rest.split(')').next().unwrap_or_default();
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let name = file.strip_suffix(".md").unwrap_or(file);
            if anchor.is_empty() || !(name.is_empty() || PAGES.contains(&name)) {
                continue;
            }
            let target_page = if name.is_empty() { page } else { name };
            let anchors = anchors(&read_text(&format!("docs/{target_page}.md")));
            assert!(anchors.contains(anchor), "{page}: {target}");
        }
    }
}

/// The anchors of the headings of a page.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|heading| {
            let words = heading.trim_start_matches('#').trim().to_lowercase();
            words
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}
