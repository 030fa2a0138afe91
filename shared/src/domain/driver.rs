//! Who drives the line: its promoter, and where that is away, whoever calls.

/// Without a heartbeat for so many intervals of the pace, a promoter is away.
const INTERVALS: u64 = 3;
/// However long the interval is, a promoter that ticks each second is away after so long, in milliseconds.
const AWAY_AFTER_MAX_MS: u64 = 5_000;

/// How old a heartbeat may be, in milliseconds, before the promoter counts as away: `min(3 intervals, 5 s)`.
pub fn away_after_ms(interval_ms: u64) -> u64 {
    interval_ms.saturating_mul(INTERVALS).min(AWAY_AFTER_MAX_MS)
}

/// Whether the promoter is away: its last heartbeat is too old, or there is none.
pub fn is_away(heartbeat_ms: u64, now_ms: u64, away_after_ms: u64) -> bool {
    heartbeat_ms == 0 || now_ms.saturating_sub(heartbeat_ms) >= away_after_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promoter_is_away_after_three_intervals_and_after_five_seconds_at_the_latest() {
        assert_eq!(away_after_ms(1_000), 3_000);
        assert_eq!(away_after_ms(2_000), 5_000);
        assert_eq!(away_after_ms(3_600_000), 5_000);
    }

    #[test]
    fn without_a_heartbeat_there_is_no_promoter() {
        assert!(is_away(0, 0, 3_000));
        assert!(!is_away(1_000, 3_999, 3_000));
        assert!(is_away(1_000, 4_000, 3_000));
        assert!(!is_away(9_000, 4_000, 3_000), "a clock that was set back");
    }
}
