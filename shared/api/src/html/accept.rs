//! Which representation and which language a browser prefers (RFC 9110, sections 12.4 and 12.5).

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use super::words::LANGUAGES;

/// The language of a visitor whose own ones do not ship.
const FALLBACK_LANGUAGE: &str = "en";
/// The longest language tag that counts, in bytes (RFC 5646, section 4.4.1). A header may be as long as the gateway allows, and
/// each of its subtags would be one more tag to compare.
const TAG_BYTES_MAX: usize = 35;
/// The regions that write Chinese in traditional characters.
const TRADITIONAL_REGIONS: [&str; 3] = ["tw", "hk", "mo"];

/// The quality of a choice that the client does not restrict, in thousandths.
const FULL_QUALITY: u16 = 1_000;
/// How many members of a header count. Browsers send fewer.
const MEMBERS_MAX: usize = 32;

/// Whether the client prefers HTML to JSON. Without a preference it gets JSON.
pub(crate) fn prefers_html(headers: &HeaderMap) -> bool {
    let ranges = parse_list(header_texts(headers, &header::ACCEPT));
    quality_of(&ranges, "text/html") > quality_of(&ranges, "application/json")
}

/// The shipped language of a visitor who sends this `Accept-Language`.
pub(crate) fn read_language(header: &HeaderValue) -> &'static str {
    choose_language(None, &rank_languages(header.to_str().into_iter()))
}

/// The shipped language for a visitor: that of the parameter `lang`, or the first one of the `accepted` that ships, or
/// English.
pub(super) fn choose_language(lang_parameter: Option<&str>, accepted: &[String]) -> &'static str {
    let mut wanted = lang_parameter
        .into_iter()
        .chain(accepted.iter().map(String::as_str));
    wanted.find_map(match_language).unwrap_or(FALLBACK_LANGUAGE)
}

/// The shipped language that covers a language tag.
fn match_language(tag: &str) -> Option<&'static str> {
    let covers = |range: &String| {
        let mut languages = LANGUAGES.iter().map(|(language, _)| *language);
        languages.find(|language| language.eq_ignore_ascii_case(range))
    };
    covering_tags(tag).iter().find_map(covers)
}

/// The tags that cover a language tag, in lower case, the nearest first (lookup of RFC 4647, section 3.4). Chinese without a
/// script is in the likely one of its region, so `zh-hant` covers `zh-TW`. `web/client/src/words.ts` has the same rule.
pub(super) fn covering_tags(tag: &str) -> Vec<String> {
    if tag.len() > TAG_BYTES_MAX {
        return Vec::new();
    }
    let whole = tag.to_ascii_lowercase().replace('_', "-");
    let mut range = likely_chinese(&whole).unwrap_or(&whole);
    let mut tags = vec![whole.clone()];
    loop {
        tags.push(range.to_owned());
        match range.rsplit_once('-') {
            Some((shorter, _)) => range = shorter,
            None => return tags,
        }
    }
}

/// Chinese of a tag without a script, in the likely one of its region. `None` for other tags.
fn likely_chinese(tag: &str) -> Option<&'static str> {
    let mut subtags = tag.split('-');
    let is_without_script = subtags.next() == Some("zh") && !tag.starts_with("zh-han");
    let is_traditional = subtags.any(|subtag| TRADITIONAL_REGIONS.contains(&subtag));
    is_without_script.then_some(if is_traditional { "zh-hant" } else { "zh-hans" })
}

/// The languages that the client names, in lower case, the preferred ones first.
pub(super) fn read_languages(headers: &HeaderMap) -> Vec<String> {
    rank_languages(header_texts(headers, &header::ACCEPT_LANGUAGE))
}

fn rank_languages<'a>(header: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut languages = parse_list(header);
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

fn header_texts<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter();
    values.filter_map(|value| value.to_str().ok())
}

/// The first members of a header in lower case, each with its quality in thousandths.
fn parse_list<'a>(header: impl Iterator<Item = &'a str>) -> Vec<(String, u16)> {
    header
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
    use serde_json::Value;

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
    fn a_language_covers_the_tags_that_the_page_says() {
        let cases: Value =
            serde_json::from_str(include_str!("../../../../web/page/tests/language_cases.json"))
                .expect("JSON");
        for (tag, language) in cases["languages"].as_object().expect("cases") {
            assert_eq!(match_language(tag), language.as_str(), "{tag}");
        }
    }

    #[test]
    fn a_tag_that_is_too_long_costs_nothing() {
        let subtags = "-a".repeat(30_000);
        assert!(covering_tags(&format!("ko{subtags}")).is_empty());
        assert_eq!(
            choose_language(Some(&format!("ja{subtags}")), &["ko".to_owned()]),
            "ko"
        );
    }

    #[test]
    fn a_link_counts_more_than_the_languages_of_the_browser() {
        for (linked, accepted, chosen) in [
            (Some("ko-KR"), Some("ja"), "ko"),
            (Some("constructor"), Some("it, en;q=0.5, ja;q=0.8"), "ja"),
            (None, Some("*"), "en"),
            (None, None, "en"),
        ] {
            assert_eq!(
                choose_language(linked, &rank_languages(accepted.into_iter())),
                chosen,
                "{linked:?} {accepted:?}"
            );
        }
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
