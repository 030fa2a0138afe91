//! The HTML of the widget. `maud` escapes every text.

use maud::{Markup, PreEscaped, html};
use serde_json::json;
use vestibule_domain::settings::MESSAGE_CHARACTERS_MAX;

use crate::{
    call::{Call, Endpoints, Theme},
    figures::grouped,
    floor,
    order::Outcome,
    queues::{Chosen, Details, Numbers, Overview, Row},
};

const STYLE: &str = include_str!("widget.css");

/// Writes the overview, the chosen queue and what became of an order.
pub(crate) fn render(
    call: &Call,
    endpoints: &Endpoints,
    overview: &Overview,
    chosen: Option<&Chosen>,
    outcome: Option<&Outcome>,
) -> String {
    let content = html! {
        @if let Some(outcome) = outcome { (outcome_note(outcome)) }
        @if let Some(problem) = &overview.problem { (failure_note(problem)) }
        @if let Some(chosen) = chosen { (chosen_section(call, endpoints, chosen)) }
        @if overview.rows.is_empty() && overview.problem.is_none() { p { "There is no queue." } }
        ul {
            @for row in &overview.rows { (queue_row(call, endpoints, row, chosen)) }
        }
        @if overview.left_out > 0 {
            p { (grouped(overview.left_out as u64)) " more queues are not shown. The command list shows them all." }
        }
    };
    frame(call, &content)
}

/// Writes that the queues could not be read.
pub(crate) fn render_failure(call: &Call, outcome: Option<&Outcome>, reason: &str) -> String {
    let content = html! {
        @if let Some(outcome) = outcome { (outcome_note(outcome)) }
        (failure_note(reason))
    };
    frame(call, &content)
}

fn frame(call: &Call, content: &Markup) -> String {
    let class = match call.theme {
        Theme::Light => "vb",
        Theme::Dark => "vb vb-dark",
    };
    html! {
        // The console's own styles would change the buttons.
        div class="cwdb-no-default-styles" {}
        div class=(class) {
            style { (PreEscaped(STYLE)) }
            (content)
        }
    }
    .into_string()
}

fn failure_note(reason: &str) -> Markup {
    html! {
        p class="vb-say vb-bad" { b { "The queues could not be read. " } (reason) }
    }
}

fn outcome_note(outcome: &Outcome) -> Markup {
    html! {
        @match outcome {
            Outcome::Done(what) => p class="vb-say" role="status" { b { "Done. " } (what) },
            Outcome::Refused(reason) => p class="vb-say vb-bad" role="alert" { b { "Not done. " } (reason) },
            Outcome::NotAllowed => p class="vb-say vb-bad" role="alert" {
                b { "Not done. " } "Orders go to the alias orders of this function, and this call did not."
            },
            Outcome::Unknown(reason) => p class="vb-say vb-bad" role="alert" {
                b { "It is not known whether the order was carried out. " } "Look at the state below. " (reason)
            },
        }
    }
}

fn state_badge(numbers: &Numbers) -> Markup {
    let class = match numbers.state.as_str() {
        "open" | "draining" => "vb-state vb-moves",
        "paused" | "closed" => "vb-state vb-stands",
        _ => "vb-state",
    };
    html! { span class=(class) { (numbers.state_word()) } }
}

fn queue_row(call: &Call, endpoints: &Endpoints, row: &Row, chosen: Option<&Chosen>) -> Markup {
    let is_chosen = chosen.is_some_and(|chosen| chosen.queue == row.queue);
    html! {
        li {
            header {
                h3 { (row.queue) }
                @if let Ok(numbers) = &row.numbers { (state_badge(numbers)) }
                @if is_chosen { small { "shown above" } } @else {
                    button type="button" class="btn" aria-label=(format!("Show {}", row.queue)) { "Show" }
                    (action(&endpoints.show, None, &json!({ "show": row.queue })))
                }
            }
            @match &row.numbers {
                Err(problem) => p class="vb-bad" { (problem) },
                Ok(numbers) => dl {
                    (figure("Waiting", &grouped(numbers.waiting)))
                    (figure("Called", &grouped(numbers.called)))
                    (figure("Present", &grouped(numbers.present)))
                    (figure("Absent", &grouped(numbers.absent)))
                    (figure("Ready", &grouped(numbers.ready)))
                    (figure("Inside", &inside(numbers)))
                    (figure("Pace", &numbers.pace_words()))
                    (figure("Last one in", &last_one_in(numbers, call.utc_offset_minutes)))
                    (figure("Done", &grouped(numbers.completed)))
                },
            }
        }
    }
}

fn figure(name: &str, value: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// The visitors inside, of the capacity.
fn inside(numbers: &Numbers) -> String {
    if numbers.is_passthrough() {
        grouped(numbers.active)
    } else {
        format!("{} of {}", grouped(numbers.active), grouped(numbers.capacity))
    }
}

fn last_one_in(numbers: &Numbers, utc_offset_minutes: i64) -> String {
    match numbers.expected_end(utc_offset_minutes) {
        Some(time) => format!("about {time}"),
        None if numbers.waiting == 0 => "none waits".to_owned(),
        None => "not known".to_owned(),
    }
}

fn chosen_section(call: &Call, endpoints: &Endpoints, chosen: &Chosen) -> Markup {
    html! {
        section class="vb-large" {
            // The console sends the form with each refresh, so that the choice stays.
            input type="hidden" name="queue" value=(chosen.queue);
            @match &chosen.details {
                Err(problem) => { h2 { (chosen.queue) } p class="vb-bad" { (problem) } },
                Ok(details) => (details_of(call, endpoints, &chosen.queue, details)),
            }
        }
    }
}

fn details_of(call: &Call, endpoints: &Endpoints, queue: &str, details: &Details) -> Markup {
    let numbers = &details.numbers;
    html! {
        header { h2 { (queue) } (state_badge(numbers)) small { "mode " (numbers.mode) } }
        @if let Some(reason) = details.limited_by.as_deref().and_then(limit_sentence) { p class="vb-bad" { (reason) } }
        (floor::draw(numbers))
        dl {
            (count("Waiting", &grouped(numbers.waiting), &format!("last one in: {}", last_one_in(numbers, call.utc_offset_minutes))))
            (count("Called", &grouped(numbers.called),
                &format!("{} present, {} absent; pace {}", grouped(numbers.present), grouped(numbers.absent), numbers.pace_words())))
            (count("Inside", &inside(numbers),
                &format!("{} ready to enter, {} held", grouped(numbers.ready), grouped(numbers.held))))
            (count("Done", &grouped(numbers.completed),
                &format!("{} left, {} did not come, {} ran out", grouped(details.left), grouped(details.no_shows), grouped(details.expired))))
        }
        p { small { "Visitors are told: " } (details.message.as_deref().unwrap_or("no message")) }
        (orders(endpoints, queue, details))
    }
}

fn count(name: &str, value: &str, sentence: &str) -> Markup {
    html! { div { dt { (name) } dd { b { (value) } small { (sentence) } } } }
}

/// The buttons. Each asks once before it acts.
fn orders(endpoints: &Endpoints, queue: &str, details: &Details) -> Markup {
    let numbers = &details.numbers;
    let (order, label, question) = if numbers.state == "paused" {
        (
            "resume",
            "Resume",
            format!(
                "Resume {queue}? Visitors are let in again at the pace {}.",
                numbers.pace_words()
            ),
        )
    } else {
        (
            "pause",
            "Pause",
            format!(
                "Pause {queue}? Visitors may still enter, and none of the {} who wait is let in.",
                grouped(numbers.waiting)
            ),
        )
    };
    let event = |order: &str| json!({ "show": queue, "order": order });
    let mut message = event("message");
    message["revision"] = json!(details.revision);
    let replaced = match details.message_languages {
        0 | 1 => String::new(),
        languages => format!(" It replaces the texts in {languages} languages."),
    };
    html! {
        div class="vb-orders" {
            button type="button" class="btn vb-first" { (label) }
            (action(&endpoints.orders, Some(&question), &event(order)))
            label {
                "Message for all who wait in " (queue) " (empty: none)"
                input type="text" name="message" maxlength=(MESSAGE_CHARACTERS_MAX) autocomplete="off";
            }
            button type="button" class="btn" { "Set message" }
            (action(&endpoints.orders, Some(&format!("Show the message to all who wait in {queue}?{replaced}")), &message))
        }
    }
}

/// An action of the element before it: the console invokes a function with this event, and shows its answer in the widget.
fn action(endpoint: &str, question: Option<&str>, event: &serde_json::Value) -> Markup {
    html! {
        cwdb-action action="call" display="widget" endpoint=(endpoint) confirmation=[question] { (event.to_string()) }
    }
}

/// Why the queue lets no visitor in, as a sentence. `None` if that needs no attention.
fn limit_sentence(limit: &str) -> Option<&'static str> {
    match limit {
        "presence" => Some("No visitor is let in: those who were called have not checked in."),
        "capacity" => Some("No visitor is let in: the capacity is full."),
        "service" => Some("No visitor is let in: the protected service is down, or reports no load."),
        "journal" => Some("No visitor is let in: DynamoDB is far behind."),
        "clock" => Some("No visitor is let in: the clocks of Redis and the functions differ."),
        _ => None,
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
