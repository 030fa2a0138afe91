//! Numbers and durations in the visitor's language. Browsers have `Intl` for this; a server has these few rules.

use super::words::{Language, Words};

const MINUTE_SECONDS: u64 = 60;
const HOUR_SECONDS: u64 = 3_600;
/// A range is in minutes up to here, and in hours beyond.
const MINUTES_MAX_SECONDS: u64 = 90 * MINUTE_SECONDS;

/// Writes a number with its groups of three digits.
pub(super) fn count(language: Language, number: u64) -> String {
    let digits = number.to_string();
    let is_arabic = language.tag() == "ar";
    let mut text = String::new();
    for (index, digit) in digits.bytes().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(if is_arabic { '٬' } else { ',' });
        }
        text.push(match is_arabic {
            true => ARABIC_DIGITS[usize::from(digit - b'0')],
            false => char::from(digit),
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
        _ => (HOUR_SECONDS, "hours"),
    };
    let low = ((low_seconds + size / 2) / size).max(1);
    let high = high_seconds.div_ceil(size).max(low);
    let number = |number| count(words.language, number);
    let numbers = if low == high {
        number(high)
    } else {
        format!("{}–{}", number(low), number(high))
    };
    words.text_of_count(unit, &[("n", &numbers)], high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(tag: &str) -> Language {
        Language::choose(&[tag.to_owned()])
    }

    #[test]
    fn numbers_have_groups_and_the_digits_of_the_language() {
        for (number, english, arabic) in [
            (0, "0", "٠"),
            (999, "999", "٩٩٩"),
            (1_000, "1,000", "١٬٠٠٠"),
            (1_234_567, "1,234,567", "١٬٢٣٤٬٥٦٧"),
        ] {
            assert_eq!(count(language("en"), number), english);
            assert_eq!(count(language("ar"), number), arabic);
        }
    }

    #[test]
    fn a_range_is_in_the_unit_that_suits_it() {
        let words = Words::new(language("en"));
        for (low, high, text) in [
            (0, 0, "1 second"),
            (1, 1, "1 second"),
            (5, 59, "5–59 seconds"),
            (20, 60, "1 minute"),
            (100, 110, "2 minutes"),
            (480, 600, "8–10 minutes"),
            (5_000, 5_399, "83–90 minutes"),
            (3_600, 7_200, "1–2 hours"),
            (5_400, 200_000, "2–56 hours"),
        ] {
            assert_eq!(range(&words, low, high), text, "{low} to {high}");
        }
        assert_eq!(duration(&words, 56_001), "57 seconds");
        let range_in = |tag| range(&Words::new(language(tag)), 480, 600);
        assert_eq!(range_in("ko"), "8–10분");
        assert_eq!(range_in("ja"), "8–10分");
        assert_eq!(range_in("ar"), "٨–١٠ دقائق");
    }
}
