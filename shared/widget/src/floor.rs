//! The floor of a queue as a drawing: those who wait, the door, and those inside.

use maud::{Markup, html};

use crate::queues::Numbers;

/// The most dots of those who wait. They count nothing: they show that the line is long.
const DOTS_MAX: u64 = 26;
const DOT_GAP: u64 = 15;
const DOOR_X: u64 = 420;
const METER_X: u64 = 490;
const METER_WIDTH: u64 = 140;

/// Draws the floor. Its numbers are written below it, so the drawing has a description only.
pub(crate) fn draw(numbers: &Numbers) -> Markup {
    let taken = numbers.taken();
    let filled = match numbers.capacity {
        _ if numbers.is_passthrough() => 0,
        0 => METER_WIDTH,
        capacity => (METER_WIDTH * taken / capacity).min(METER_WIDTH),
    };
    let dots = numbers.waiting.min(DOTS_MAX);
    // The share of the dots is that of those who are called, and at least one dot shows that some are.
    let called_dots = (numbers.called * dots).div_ceil(numbers.waiting.max(1));
    let lets_in = matches!(numbers.state.as_str(), "open" | "draining");
    let description = format!(
        "{} wait before a door that {}; {} of {} places inside are taken",
        numbers.waiting,
        if lets_in { "lets visitors in" } else { "is shut" },
        taken,
        numbers.capacity,
    );
    html! {
        svg class="vb-floor" viewBox="0 0 640 64" role="img" aria-label=(description) preserveAspectRatio="xMidYMid meet" {
            line class="vb-ground" x1="0" y1="56" x2="640" y2="56" {}
            @for dot in 0..dots {
                circle class=(if dot < called_dots { "vb-dot vb-near" } else { "vb-dot" })
                    cx=(DOOR_X - 24 - dot * DOT_GAP) cy="48" r="4.5" {}
            }
            path class="vb-door" d=(format!("M{DOOR_X} 56V26a16 16 0 0 1 32 0v30z")) {}
            @if lets_in {
                path class="vb-light" d=(format!("M{} 56V27a9 9 0 0 1 18 0v29z", DOOR_X + 7)) {}
            }
            rect class="vb-room" x=(METER_X) y="40" width=(METER_WIDTH) height="10" rx="5" {}
            @if filled > 0 {
                rect class="vb-taken" x=(METER_X) y="40" width=(filled) height="10" rx="5" {}
            }
        }
    }
}
