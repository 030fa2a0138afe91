//! Writes a screen as an HTML document without scripts.

use std::{fmt::Write, sync::LazyLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use super::{
    format,
    page_request::PageRequest,
    screen::{Action, Screen},
};

const STYLE: &str = include_str!("style.css");

/// The source of the style in the policy: its hash (CSP level 3, section 2.3.1).
static STYLE_SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(STYLE))));

/// The policy of a page: no script, no request but for its forms, no frame.
///
/// Browsers apply `form-action` to the redirects after a form, too. So a form to claim may lead to the shop, at
/// whatever host, and on a developer's machine without TLS.
pub(super) fn policy(screen: &Screen, is_local: bool, frame_ancestors: &str) -> String {
    let shop = match (&screen.action, is_local) {
        (Some(Action::Claim { .. }), true) => " https: http:",
        (Some(Action::Claim { .. }), false) => " https:",
        _ => "",
    };
    format!(
        "default-src 'none'; style-src {}; img-src data:; base-uri 'none'; form-action 'self'{shop}; \
         frame-ancestors {frame_ancestors}",
        *STYLE_SOURCE
    )
}

/// The header that reloads the page, if it does.
pub(super) fn refresh_header(request: &PageRequest, screen: &Screen) -> Option<String> {
    let seconds = screen.refresh_seconds?;
    // The answer to a form must not be reloaded, because that would send the form again.
    Some(match request.next_reference() {
        own if own.is_empty() => seconds.to_string(),
        next => format!("{seconds}; url={next}"),
    })
}

/// Writes the document.
pub(super) fn write_document(request: &PageRequest, screen: &Screen) -> String {
    let words = &request.words;
    let (tag, direction) = (words.language.tag(), words.language.direction());
    let (title, brand) = (escape(&screen.headline), escape(&words.text("brand")));
    let code = screen
        .code
        .map_or_else(String::new, |code| format!(" data-code=\"{}\"", code.name()));
    let mut html = format!(
        "<!doctype html>\n<html lang=\"{tag}\" dir=\"{direction}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"robots\" content=\"noindex\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n</head>\n\
         <body data-state=\"{}\"{code}>\n<header>{brand}</header>\n<main>\n<h1>{title}</h1>\n",
        screen.name
    );
    write_texts(&mut html, screen);
    if let Some(action) = &screen.action {
        write_action(&mut html, request, action);
    }
    write_refresh(&mut html, request, screen);
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

fn write_texts(html: &mut String, screen: &Screen) {
    let mut write_paragraph = |attributes: &str, text: &str| {
        if !text.is_empty() {
            append(html, format_args!("<p {attributes}>{}</p>\n", escape(text)));
        }
    };
    write_paragraph("class=\"lead\"", &screen.detail);
    write_paragraph("class=\"number\" data-part=\"number\"", &screen.number);
    write_paragraph("class=\"counted\"", &screen.counted);
    for line in &screen.lines {
        write_paragraph("class=\"line\"", line);
    }
    // The operator's message may be in another language than the page.
    let language = escape(&screen.message.language);
    write_paragraph(
        &format!("class=\"message\" lang=\"{language}\" dir=\"auto\" data-part=\"message\""),
        &screen.message.text,
    );
}

fn write_action(html: &mut String, request: &PageRequest, action: &Action) {
    let (address, text) = match action {
        Action::Enter(text) => (request.start_reference(), text),
        Action::Claim { token, text } => (request.claim_reference(token), text),
        Action::Open { address, text } => {
            let (address, text) = (escape(address), escape(text));
            append(
                html,
                format_args!("<p><a class=\"button\" href=\"{address}\">{text}</a></p>\n"),
            );
            return;
        }
    };
    let (address, text) = (escape(&address), escape(text));
    append(
        html,
        format_args!("<form method=\"post\" action=\"{address}\"><button>{text}</button></form>\n"),
    );
}

fn write_refresh(html: &mut String, request: &PageRequest, screen: &Screen) {
    let Some(seconds) = screen.refresh_seconds else {
        return;
    };
    let words = &request.words;
    let every = format::duration(words, seconds.saturating_mul(1_000));
    let text = words.text_with("refreshes", &[("t", &every)]);
    let (text, update) = (escape(&text), escape(&words.text("update")));
    let address = escape(&request.next_reference());
    append(
        html,
        format_args!("<p class=\"hint\">{text} <a href=\"{address}\">{update}</a></p>\n"),
    );
}

fn append(html: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = html.write_fmt(text);
}

/// Replaces the characters that have a meaning in HTML, so that a text is text in an element and in a quoted attribute.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
