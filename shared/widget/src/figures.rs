//! Numbers and times as the widget writes them.

/// A number with a comma before each three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A moment as a time of day, in a time zone with this offset from UTC. A moment that is a day away or more has `+1 d`.
pub(crate) fn clock_time(at_ms: u64, now_ms: u64, utc_offset_minutes: i64) -> String {
    let minutes = |ms: u64| (ms / 60_000).cast_signed() + utc_offset_minutes;
    let (at, now) = (minutes(at_ms), minutes(now_ms));
    let days = at.div_euclid(1_440) - now.div_euclid(1_440);
    let in_day = at.rem_euclid(1_440);
    let time = format!("{:02}:{:02}", in_day / 60, in_day % 60);
    if days > 0 {
        format!("{time} +{days} d")
    } else {
        time
    }
}

/// A pace such as `20 each 10 s`.
pub(crate) fn pace(batch: u64, interval_seconds: u64) -> String {
    match interval_seconds {
        1 => format!("{} a second", grouped(batch)),
        60 => format!("{} a minute", grouped(batch)),
        seconds => format!("{} each {} s", grouped(batch), grouped(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn times_are_those_of_the_dashboard() {
        let now_ms = 1_800_000_000_000; // 2027-01-15 08:00 UTC
        assert_eq!(clock_time(now_ms + 90 * 60_000, now_ms, 0), "09:30");
        assert_eq!(clock_time(now_ms, now_ms, 9 * 60), "17:00");
        assert_eq!(clock_time(now_ms + 10 * 3_600_000, now_ms, 9 * 60), "03:00 +1 d");
        assert_eq!(clock_time(now_ms, now_ms, -8 * 60 - 30), "23:30");
    }

    #[test]
    fn pace_names_its_interval() {
        assert_eq!(pace(20, 10), "20 each 10 s");
        assert_eq!(pace(1_500, 1), "1,500 a second");
    }
}
