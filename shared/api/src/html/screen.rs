//! What the page of an entry says. Pure: the same answer gives the same screen.

use vestibule_domain::{queue_state::QueueState, state::EntryState};
use vestibule_wire::{Code, Entry, Pass};

use super::{
    format,
    hand_over::fill_target,
    message_text::{MessageText, choose_text},
    page_request::PageRequest,
};

/// A wait that is so short has no range, in seconds.
const MOMENT_SECONDS: u64 = 3;
/// A client in JavaScript polls a ready or active entry every second. A page that reloads so often could not be used, so
/// it reloads this often, in seconds.
const SESSION_REFRESH_SECONDS: u64 = 10;
/// The shortest time between two reloads, in seconds.
const REFRESH_SECONDS_MIN: u64 = 2;

/// One screen. Empty texts are not shown.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// The name of the screen, as of those of the waiting page.
    pub(super) name: &'static str,
    pub(super) headline: String,
    pub(super) detail: String,
    /// The large number, and what it counts.
    pub(super) number: String,
    pub(super) counted: String,
    pub(super) lines: Vec<String>,
    /// The operator's message.
    pub(super) message: MessageText,
    pub(super) action: Option<Action>,
    /// After how many seconds the page reloads.
    pub(super) refresh_seconds: Option<u64>,
    /// The code of the problem that the page shows.
    pub(super) code: Option<Code>,
}

/// What the visitor can do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Enter by a form. The text is that of the button.
    Enter(String),
    /// Claim the turn of an entry by a form.
    Claim { token: String, text: String },
    /// Go to the shop, or to another page of the waiting room.
    Open { address: String, text: String },
}

/// The page of an entry.
pub(super) fn show_entry(request: &PageRequest, entry: &Entry) -> Screen {
    let screen = match entry.state {
        EntryState::Ready => show_turn(request, entry),
        EntryState::Active => show_session(request, entry),
        _ => show_wait(request, entry),
    };
    let message = choose_text(&entry.message, &request.languages);
    let screen = Screen { message, ..screen };
    if entry.proven == Some(false) {
        without_visitor(request, screen)
    } else {
        screen
    }
}

/// The page for a browser that has no cookie of the visitor. Such a page keeps no place, so it neither reloads nor offers
/// the turn, and says so.
fn without_visitor(request: &PageRequest, screen: Screen) -> Screen {
    Screen {
        detail: request.words.text("cookie-required"),
        action: Some(Action::Open {
            address: request.start_reference(),
            text: request.words.text("again"),
        }),
        refresh_seconds: None,
        ..screen
    }
}

fn show_wait(request: &PageRequest, entry: &Entry) -> Screen {
    let words = &request.words;
    let screen = |name, headline: &str, detail: &str| Screen {
        name,
        headline: words.text(headline),
        detail: words.text(detail),
        refresh_seconds: Some(seconds_until_poll(entry).max(REFRESH_SECONDS_MIN)),
        ..Screen::default()
    };
    let screen = match entry.queue_state {
        QueueState::Scheduled => return screen("before", "opensSoon", "registeredLead"),
        QueueState::Paused => screen("paused", "paused", "pausedLead"),
        QueueState::Closed => screen("shut", "shut", "shutLead"),
        _ => screen("waiting", "waiting", ""),
    };
    let Some(ahead) = entry.ahead else {
        return screen;
    };
    let count = |number| format::count(words.language, number);
    let behind = entry.behind.unwrap_or_default();
    let mut lines = vec![words.text_with("position", &[("n", &count(ahead + 1))])];
    if behind > 0 {
        lines.push(words.text_with("behind", &[("n", &count(behind))]));
    }
    if screen.name == "waiting" {
        lines.push(wait_text(request, entry));
    }
    let counted = if ahead == 0 { "next" } else { "ahead" };
    Screen {
        number: (if entry.ahead_is_expected { "≈" } else { "" }).to_owned() + &count(ahead),
        counted: words.text_of_count(counted, &[], ahead),
        lines,
        ..screen
    }
}

fn wait_text(request: &PageRequest, entry: &Entry) -> String {
    let words = &request.words;
    match entry.estimated_wait_seconds {
        None => words.text("unknown"),
        Some(wait) if wait.high <= MOMENT_SECONDS => words.text("moment"),
        Some(wait) => {
            let range = format::range(words, wait.low, wait.high);
            words.text_with("about", &[("r", &range)])
        }
    }
}

fn show_turn(request: &PageRequest, entry: &Entry) -> Screen {
    let words = &request.words;
    let left_ms = entry.claim_in_ms.unwrap_or_default();
    // While the queue is paused, the deadline stands still.
    let detail = match entry.queue_state {
        QueueState::Paused => words.text("turnPaused"),
        _ => words.text_with("turnLead", &[("t", &format::duration(words, left_ms))]),
    };
    Screen {
        name: "turn",
        headline: words.text("turn"),
        detail,
        action: Some(Action::Claim {
            token: entry.token.clone(),
            text: words.text("enter"),
        }),
        refresh_seconds: Some(SESSION_REFRESH_SECONDS.min(left_ms / 1_000 + 1)),
        ..Screen::default()
    }
}

fn show_session(request: &PageRequest, entry: &Entry) -> Screen {
    let words = &request.words;
    let left_ms = entry.expires_in_ms.unwrap_or_default();
    let left = format::duration(words, left_ms);
    Screen {
        name: "in",
        headline: words.text("in"),
        detail: words.text_with("inLead", &[("t", &left)]),
        action: shop_address(request, entry).map(|address| Action::Open {
            address,
            text: words.text("shop"),
        }),
        refresh_seconds: Some(seconds_until_poll(entry).max(SESSION_REFRESH_SECONDS)),
        ..Screen::default()
    }
}

/// Where an admitted visitor goes, if the queue has an address and the visitor a pass.
pub(super) fn shop_address(request: &PageRequest, entry: &Entry) -> Option<String> {
    let (template, pass) = entry
        .target_url
        .as_deref()
        .zip(entry.pass.as_ref().map(Pass::reveal))?;
    Some(fill_target(template, pass, request.return_path()))
}

fn seconds_until_poll(entry: &Entry) -> u64 {
    entry.retry_after_ms.unwrap_or_default().div_ceil(1_000)
}
