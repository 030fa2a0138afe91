//! The text of a place in replies and journal records.

use vestibule_domain::score::{Visit, WaitScore};

use super::fields::parse_integer;

/// Parses a place as scripts and journal records write it: its score, or `score/visit` if the place was drawn.
pub(super) fn parse_place(text: &str) -> Option<WaitScore> {
    match text.split_once('/') {
        None => WaitScore::from_raw(parse_integer(text)?),
        Some((raw, visit)) => WaitScore::of_visit(parse_integer(raw)?, Visit::new(parse_integer(visit)?)?),
    }
}

/// Writes a place in the form that [`parse_place`] reads.
pub(super) fn format_place(place: WaitScore) -> String {
    if place.is_after_opening() {
        place.raw().to_string()
    } else {
        format!("{}/{}", place.raw(), place.visit().number())
    }
}
