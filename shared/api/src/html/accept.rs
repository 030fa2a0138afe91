//! Which representation and which language a browser prefers (RFC 9110, sections 12.4 and 12.5).

use axum::http::{HeaderMap, HeaderName, header};

/// The quality of a choice that the client does not restrict, in thousandths.
const FULL_QUALITY: u16 = 1_000;
/// How many members of a header count. Browsers send fewer.
const MEMBERS_MAX: usize = 32;

/// Whether the client prefers HTML to JSON. Without a preference it gets JSON.
pub(super) fn prefers_html(headers: &HeaderMap) -> bool {
    let ranges = read_list(headers, &header::ACCEPT);
    quality_of(&ranges, "text/html") > quality_of(&ranges, "application/json")
}

/// The languages that the client names, in lower case, the preferred ones first.
pub(super) fn read_languages(headers: &HeaderMap) -> Vec<String> {
    let mut languages = read_list(headers, &header::ACCEPT_LANGUAGE);
    languages.retain(|(tag, quality)| *quality > 0 && tag != "*");
    // The sort is stable: of languages with the same quality, the first one comes first.
    languages.sort_by_key(|(_, quality)| FULL_QUALITY - quality);
    languages.into_iter().map(|(tag, _)| tag).collect()
}

/// The quality of a media type: that of the most specific range that covers it, or 0.
fn quality_of(ranges: &[(String, u16)], media_type: &str) -> u16 {
    let any_subtype = media_type.split('/').next().map(|kind| format!("{kind}/*"));
    let covering = [Some(media_type.to_owned()), any_subtype, Some("*/*".to_owned())];
    let quality = |range: String| ranges.iter().find(|(listed, _)| *listed == range);
    covering
        .into_iter()
        .flatten()
        .find_map(quality)
        .map_or(0, |(_, quality)| *quality)
}

/// The first members of a header in lower case, each with its quality in thousandths.
fn read_list(headers: &HeaderMap, name: &HeaderName) -> Vec<(String, u16)> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .take(MEMBERS_MAX)
        .filter_map(parse_member)
        .collect()
}

fn parse_member(member: &str) -> Option<(String, u16)> {
    let mut parts = member.split(';').map(str::trim);
    let value = parts.next().filter(|value| !value.is_empty())?;
    let quality = parts.find_map(|parameter| {
        let (name, quality) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| quality.trim())
    });
    let quality = quality.map_or(FULL_QUALITY, parse_quality);
    Some((value.to_ascii_lowercase(), quality))
}

/// Parses `0.8` as 800. A text that is no quality counts as 0.
fn parse_quality(text: &str) -> u16 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = format!("{fraction:0<3}");
    match (whole, fraction.get(..3).map(str::parse::<u16>)) {
        ("1", _) => FULL_QUALITY,
        ("0", Some(Ok(thousandths))) => thousandths,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefers(accept: &str) -> bool {
        let headers = HeaderMap::from_iter([(header::ACCEPT, accept.parse().expect("a header value"))]);
        prefers_html(&headers)
    }

    #[test]
    fn browsers_get_html_and_all_other_clients_json() {
        for browser in [
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
            "text/html, */*;q=0.5",
            "Text/HTML",
            "text/*",
            "application/json;q=0.5, text/html;q=0.51",
        ] {
            assert!(prefers(browser), "{browser}");
        }
        for client in [
            "*/*",
            "application/json",
            "application/json, text/html",
            "text/html, application/json",
            "text/html;q=0",
            "text/html;q=0.8, */*",
            "text/html;q=0.5, application/json;q=0.51",
            "text/plain",
            "text/html;q=x",
            "",
        ] {
            assert!(!prefers(client), "{client}");
        }
        assert!(!prefers_html(&HeaderMap::new()));
    }

    #[test]
    fn languages_come_in_the_order_of_their_quality() {
        let header = "en;q=0.8, ko-KR, *;q=0.1, ja;q=0, ar;q=0.85,, ko;q=0.9";
        let headers =
            HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, header.parse().expect("a header value"))]);
        assert_eq!(read_languages(&headers), ["ko-kr", "ko", "ar", "en"]);
        assert!(read_languages(&HeaderMap::new()).is_empty());
    }
}
