//! The address to which an admitted visitor goes, as the client library fills it in (`web/client/src/target.ts`).

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use vestibule_domain::uri::percent_encode;

/// What no header or attribute needs as it is. An address may have every other character of ASCII.
const NOT_IN_ADDRESS: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>');

/// Fills in the queue's template: `{pass}`, and `{return}` with a path of the shop. Without `{pass}`, the pass becomes
/// the fragment, which no server logs.
pub(super) fn fill_target(template: &str, pass: &str, return_path: &str) -> String {
    let path = if is_own_path(return_path) {
        return_path
    } else {
        "/"
    };
    let address = template.replacen("{return}", &percent_encode(path), 1);
    let address = if address.contains("{pass}") {
        address.replacen("{pass}", pass, 1)
    } else {
        let without_fragment = address.split('#').next().unwrap_or_default();
        format!("{without_fragment}#pass={pass}")
    };
    utf8_percent_encode(&address, NOT_IN_ADDRESS).to_string()
}

/// Whether this is a path of the target's own origin. Browsers read `//` and `/\` as the beginning of another host, and
/// drop tabs and line breaks.
fn is_own_path(path: &str) -> bool {
    let rest = path.strip_prefix('/');
    rest.is_some_and(|rest| !rest.starts_with('/') && !rest.chars().any(|c| c == '\\' || c <= ' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_gets_the_pass_and_the_path() {
        for (template, return_path, address) in [
            (
                "https://shop.example/in?p={pass}",
                "",
                "https://shop.example/in?p=a.b.c",
            ),
            (
                "https://shop.example/in",
                "",
                "https://shop.example/in#pass=a.b.c",
            ),
            (
                "https://shop.example/in#old",
                "",
                "https://shop.example/in#pass=a.b.c",
            ),
            (
                "https://shop.example/in?p={pass}&to={return}",
                "/item/7?size=m",
                "https://shop.example/in?p=a.b.c&to=%2Fitem%2F7%3Fsize%3Dm",
            ),
            (
                "https://shop.example/상점?p={pass}",
                "",
                "https://shop.example/%EC%83%81%EC%A0%90?p=a.b.c",
            ),
        ] {
            assert_eq!(fill_target(template, "a.b.c", return_path), address);
        }
    }

    #[test]
    fn a_link_cannot_lead_to_another_site() {
        for foreign in [
            "//evil.example/",
            "/\\evil.example",
            "https://evil.example",
            "/a\n/b",
            "evil",
            "",
        ] {
            let address = fill_target("https://shop.example/?to={return}", "p", foreign);
            assert_eq!(address, "https://shop.example/?to=%2F#pass=p", "{foreign:?}");
        }
    }
}
