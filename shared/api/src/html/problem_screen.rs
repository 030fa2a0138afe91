//! What a page says of a problem, and what a problem that is no page says in the visitor's language. Pure.

use vestibule_wire::{Code, Problem};

use super::{
    format,
    message_text::choose_text,
    page_request::{PageRequest, Route},
    screen::{Action, Screen},
    start_screen::finished_key,
    words::{Language, Words},
};

/// How often a page looks again whose problem may pass and names no time, in seconds.
const LOOK_AGAIN_SECONDS: u64 = 30;
/// When the page of a visitor who claimed too early looks again, in seconds.
const TOO_EARLY_SECONDS: u64 = 2;

/// The page of a problem. `retry_after_seconds` is when the client may try again.
pub(super) fn show_problem(
    request: &PageRequest,
    problem: &Problem,
    retry_after_seconds: Option<u64>,
) -> Screen {
    let screen = match problem.code {
        Code::QueueFull => look_again(request, "full", "full", "fullLook", LOOK_AGAIN_SECONDS),
        _ if retry_after_seconds.is_some() => {
            let seconds = retry_after_seconds.unwrap_or(LOOK_AGAIN_SECONDS);
            look_again(request, "lost", "joining", "busyLead", seconds)
        }
        Code::QueueClosed | Code::QueueDraining => {
            look_again(request, "closed", "closed", "closedLook", LOOK_AGAIN_SECONDS)
        }
        Code::NotYourTurn => look_again(request, "joining", "joining", "", TOO_EARLY_SECONDS),
        _ => show_end(request, problem),
    };
    let message = choose_text(&problem.message, &request.languages);
    Screen {
        message,
        code: Some(problem.code),
        ..screen
    }
}

fn look_again(
    request: &PageRequest,
    name: &'static str,
    headline: &str,
    detail: &str,
    seconds: u64,
) -> Screen {
    Screen {
        name,
        headline: request.words.text(headline),
        detail: request.words.text(detail),
        refresh_seconds: Some(seconds.max(1)),
        ..Screen::default()
    }
}

/// Title and detail of a problem in a language that ships, in the words of the pages. `None` for a problem that only programs
/// meet.
pub(crate) fn translate_problem(language: &'static str, problem: &Problem) -> Option<(String, String)> {
    let words = Words::new(Language::new(language));
    let (headline, detail) = match problem.code {
        Code::QueueFull => ("full", "full"),
        Code::QueueClosed | Code::QueueDraining => ("closed", "closed"),
        code => match end_keys(problem) {
            Some((_, headline, detail)) => (headline, detail),
            None => ("refused", code.name()),
        },
    };
    let detail = words.text_with(detail, &[("t", &grace_text(&words, problem))]);
    (!detail.is_empty()).then(|| (words.text(headline), detail))
}

/// For a visitor who has no place: the name of the screen, and the keys of its headline and detail.
fn end_keys(problem: &Problem) -> Option<(&'static str, &'static str, &'static str)> {
    Some(match problem.code {
        Code::Left => ("left", "left", "leftLead"),
        Code::Completed => ("completed", "completed", "completedLead"),
        Code::Evicted => ("evicted", "evicted", "evictedLead"),
        Code::QueueFinished => ("finished", finished_key(problem.finish_reason), "finishedLead"),
        Code::Expired if problem.grace_in_ms.is_some() => ("missed", "missed", "missedLead"),
        Code::Expired if problem.reason.is_some() => ("overlong", "overlong", "overlongLead"),
        // The answer does not say whether the turn or the session ran out.
        Code::Expired => ("ended", "over", "endedLead"),
        Code::UnknownEntry | Code::TokenOwnerMismatch => ("reset", "reset", "resetLead"),
        _ => return None,
    })
}

fn grace_text(words: &Words, problem: &Problem) -> String {
    format::duration(words, problem.grace_in_ms.unwrap_or_default())
}

/// The page of a visitor who has no place, or whose request is refused.
fn show_end(request: &PageRequest, problem: &Problem) -> Screen {
    let words = &request.words;
    let Some((name, headline, detail)) = end_keys(problem) else {
        return show_refusal(request, problem);
    };
    let grace = grace_text(words, problem);
    let enter = match name {
        "finished" => None,
        "missed" => Some("back"),
        _ => Some("join"),
    };
    Screen {
        name,
        headline: words.text(headline),
        detail: words.text_with(detail, &[("t", &grace)]),
        action: enter.map(|key| Action::Enter(words.text(key))),
        ..Screen::default()
    }
}

/// The page of a request that is refused. The waiting page has a sentence for each code that visitors meet.
fn show_refusal(request: &PageRequest, problem: &Problem) -> Screen {
    let words = &request.words;
    let own = match problem.code {
        // Forms carry none of what these ask for. The waiting page does.
        Code::TicketRequired | Code::VisitorRequired | Code::IdentityMissing => words.text("scriptRequired"),
        code => words.text(code.name()),
    };
    // From the page to start from, a link back would lead to the same page again.
    let action = (request.route != Route::Start).then(|| Action::Open {
        address: request.start_reference(),
        text: words.text("again"),
    });
    Screen {
        name: "refused",
        headline: words.text("refused"),
        detail: if own.is_empty() {
            words.text("refusedLead")
        } else {
            own
        },
        action,
        ..Screen::default()
    }
}
