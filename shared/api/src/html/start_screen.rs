//! What the page to start from says. Pure.

use vestibule_domain::{queue_state::QueueState, settings::FinishReason};

use vestibule_wire::PublicDocument;

use super::{
    format,
    message_text::choose_text,
    page_request::PageRequest,
    screen::{Action, Screen},
};

/// How often the page of a full or closed queue looks again, in seconds.
const LOOK_AGAIN_SECONDS: u64 = 30;

pub(super) fn show_start(request: &PageRequest, queue: &PublicDocument) -> Screen {
    let words = &request.words;
    let screen = |name, headline: &str, detail: &str| Screen {
        name,
        headline: words.text(headline),
        detail: words.text(detail),
        ..Screen::default()
    };
    let enter = || Some(Action::Enter(words.text("start")));
    let screen = match queue.state {
        QueueState::Finished => screen("finished", finished_key(queue.finish_reason), "finishedLead"),
        QueueState::Draining | QueueState::Closed => Screen {
            refresh_seconds: Some(LOOK_AGAIN_SECONDS),
            ..screen("closed", "closed", "closedLook")
        },
        _ if queue.full => Screen {
            refresh_seconds: Some(LOOK_AGAIN_SECONDS),
            ..screen("full", "full", "fullLook")
        },
        QueueState::Scheduled => Screen {
            action: enter(),
            ..show_opening(request, queue)
        },
        QueueState::Open | QueueState::Paused => Screen {
            action: enter(),
            ..screen("start", "start", "startLead")
        },
    };
    let message = choose_text(&queue.message, &request.languages);
    Screen { message, ..screen }
}

/// The key of the headline of a queue that is over.
pub(super) fn finished_key(reason: Option<FinishReason>) -> &'static str {
    match reason {
        Some(FinishReason::SoldOut) => "sold_out",
        Some(FinishReason::Cancelled) => "cancelled",
        Some(FinishReason::Over) | None => "finished",
    }
}

fn show_opening(request: &PageRequest, queue: &PublicDocument) -> Screen {
    let words = &request.words;
    let left_ms = queue.opens_at_ms.map(|ms| ms.saturating_sub(queue.now_ms));
    let headline = match left_ms {
        Some(ms) => words.text_with("opens", &[("t", &format::duration(words, ms))]),
        None => words.text("opensSoon"),
    };
    let detail = if queue.draw_commitment.is_some() {
        "drawLead"
    } else {
        "startLead"
    };
    let here = format::count(words.language, queue.waiting);
    let here = words.text_of_count("here", &[("n", &here)], queue.waiting);
    let left_seconds = left_ms.unwrap_or_default().div_ceil(1_000);
    Screen {
        name: "before",
        headline,
        detail: words.text(detail),
        lines: if queue.waiting > 0 { vec![here] } else { Vec::new() },
        refresh_seconds: Some(left_seconds.clamp(2, LOOK_AGAIN_SECONDS)),
        ..Screen::default()
    }
}
