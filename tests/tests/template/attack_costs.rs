//! The table of what an attack costs, in `docs/security.md`, follows from the limits of the template and the prices that the
//! plan computes with.

use regex_lite::Regex;
use vestibule_sizing::facts::{API_REQUEST, TABLE_WRITE};
use vestibule_tests::template::{read_template, read_text};

const HOUR_SECONDS: f64 = 3_600.0;
/// A rounded figure may differ by so much.
const ROUNDING: f64 = 0.05;

/// The number behind a word in a line of the table.
fn number_after(line: &str, word: &str) -> f64 {
    let pattern = Regex::new(&format!(r"{} ([0-9.,]+)", regex_lite::escape(word))).expect("a pattern");
    let found = pattern
        .captures(line)
        .unwrap_or_else(|| panic!("no number after {word} in {line}"));
    found[1]
        .trim_end_matches(['.', ','])
        .replace(',', "")
        .parse()
        .expect("a number")
}

#[test]
fn attack_costs_follow_from_limits_and_prices() {
    let template = read_template();
    let sale = &template["Mappings"]["Sizes"]["sale"];
    let page = read_text("docs/security.md");
    for (parameter, begins, writes) in [
        ("EnterThrottleRate", "| entering without pause", 1.0),
        ("ThrottleRate", "| polling without pause", 0.0),
    ] {
        let line = page.lines().find(|line| line.starts_with(begins)).expect("a row");
        let rate: f64 = sale[parameter]
            .as_str()
            .expect("a text")
            .parse()
            .expect("a number");
        let requests = rate * HOUR_SECONDS;
        let mut figures = vec![
            (number_after(line, &format!("`{parameter}`")), rate),
            (number_after(line, "a second,"), requests / 1e6),
            (number_after(line, "API"), requests * API_REQUEST.value),
        ];
        if writes > 0.0 {
            figures.push((
                number_after(line, "writes"),
                writes * requests * TABLE_WRITE.value,
            ));
        }
        for (written, computed) in figures {
            let difference = (written - computed).abs() / computed;
            assert!(difference < ROUNDING, "{begins}: {written} instead of {computed}");
        }
    }
}
