//! Numbers and durations in the visitor's language. Browsers have `Intl` for this; a server has these few rules.

use super::words::{Language, Words};

const MINUTE_SECONDS: u64 = 60;
const HOUR_SECONDS: u64 = 3_600;
const DAY_SECONDS: u64 = 86_400;
/// A range is in minutes up to here, in hours up to the next bound, and in days beyond.
const MINUTES_MAX_SECONDS: u64 = 90 * MINUTE_SECONDS;
const HOURS_MAX_SECONDS: u64 = 36 * HOUR_SECONDS;
/// From here on, no form of a sentence is without its number. Arabic has forms for one and two that are.
const COUNTED_MIN: u64 = 3;

/// Writes a number with its groups of three digits, as browsers do.
pub(super) fn count(language: Language, number: u64) -> String {
    let digits = number.to_string();
    let is_arabic = language.tag() == "ar";
    let separator = match language.tag() {
        "ar" => "٬",
        "de" => ".",
        "es" if digits.len() > 4 => ".",
        "es" => "",
        "fr" => "\u{202f}",
        _ => ",",
    };
    let mut text = String::new();
    for (index, digit) in digits.bytes().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push_str(separator);
        }
        text.push(if is_arabic {
            ARABIC_DIGITS[usize::from(digit - b'0')]
        } else {
            char::from(digit)
        });
    }
    text
}

const ARABIC_DIGITS: [char; 10] = ['٠', '١', '٢', '٣', '٤', '٥', '٦', '٧', '٨', '٩'];

/// Writes a duration of at least one second, such as "57 seconds".
pub(super) fn duration(words: &Words, ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    range(words, seconds, seconds)
}

/// Writes a range of seconds in the unit that suits it, such as "8–10 minutes".
pub(super) fn range(words: &Words, low_seconds: u64, high_seconds: u64) -> String {
    let (size, unit) = match high_seconds {
        0..MINUTE_SECONDS => (1, "seconds"),
        MINUTE_SECONDS..MINUTES_MAX_SECONDS => (MINUTE_SECONDS, "minutes"),
        MINUTES_MAX_SECONDS..HOURS_MAX_SECONDS => (HOUR_SECONDS, "hours"),
        _ => (DAY_SECONDS, "days"),
    };
    let low = ((low_seconds + size / 2) / size).max(1);
    let high = high_seconds.div_ceil(size).max(low);
    let number = |number| count(words.language, number);
    if low == high {
        return words.text_of_count(unit, &[("n", &number(high))], high);
    }
    let numbers = format!("{}–{}", number(low), number(high));
    words.text_of_count(unit, &[("n", &numbers)], high.max(COUNTED_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::words::LANGUAGES;

    #[test]
    fn numbers_are_those_of_browsers() {
        let cases: serde_json::Value =
            serde_json::from_str(include_str!("../../../../web/page/tests/language_cases.json"))
                .expect("JSON");
        for (tag, _) in LANGUAGES {
            for (number, text) in cases["numbers"][tag]
                .as_object()
                .expect("a language of the cases")
            {
                let number = number.parse().expect("a number");
                assert_eq!(
                    Some(count(Language::new(tag), number).as_str()),
                    text.as_str(),
                    "{tag}"
                );
            }
        }
    }

    #[test]
    fn a_range_is_in_the_unit_that_suits_it() {
        let words = Words::new(Language::new("en"));
        for (low, high, text) in [
            (0, 0, "1 second"),
            (1, 1, "1 second"),
            (5, 59, "5–59 seconds"),
            (20, 60, "1 minute"),
            (100, 110, "2 minutes"),
            (480, 600, "8–10 minutes"),
            (5_000, 5_399, "83–90 minutes"),
            (3_600, 7_200, "1–2 hours"),
            (5_400, 129_599, "2–36 hours"),
            (5_400, 129_600, "1–2 days"),
            (500_000, 500_000, "6 days"),
        ] {
            assert_eq!(range(&words, low, high), text, "{low} to {high}");
        }
        assert_eq!(duration(&words, 56_001), "57 seconds");
        let range_in = |tag| range(&Words::new(Language::new(tag)), 480, 600);
        assert_eq!(range_in("ko"), "8–10분");
        assert_eq!(range_in("ja"), "8–10分");
        assert_eq!(range_in("ar"), "٨–١٠ دقائق");
        // The form for two hours has no number.
        assert_eq!(range(&Words::new(Language::new("ar")), 3_600, 7_200), "١–٢ ساعات");
    }
}
