//! Compares what a crowd counted with the server's own report.
//!
//! The two need not be equal. A visitor who leaves the line, or never polls, does not learn of a promotion in the last
//! moment. So each row has the least and the greatest number that the server may have, and what lies outside is a
//! difference that no race explains.

use serde::Serialize;
use vestibule_crowd::checks::{percentile, percentile_bounds};

use crate::{
    crowd_totals::CrowdTotals,
    server_report::{ServerReport, ServerWaits},
};

/// One figure of both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ComparisonRow {
    /// What is counted.
    pub(crate) name: &'static str,
    /// What the crowd counted.
    pub(crate) crowd: u64,
    /// What the server counted.
    pub(crate) server: u64,
    /// The least that the server may have counted.
    pub(crate) low: u64,
    /// The most that the server may have counted.
    pub(crate) high: u64,
}

impl ComparisonRow {
    fn between(name: &'static str, (crowd, server): (u64, u64), low: u64, high: u64) -> Self {
        Self {
            name,
            crowd,
            server,
            low,
            high,
        }
    }

    /// Whether the two agree, as far as they can.
    pub(crate) fn agrees(&self) -> bool {
        (self.low..=self.high).contains(&self.server)
    }
}

/// Compares the counts and, if all of the server's waits are of this crowd, the waits. `waits_ms` are the waits that the
/// crowd knows, sorted.
pub(crate) fn compare(crowd: &CrowdTotals, waits_ms: &[u64], server: &ServerReport) -> Vec<ComparisonRow> {
    let mut rows = compare_totals(crowd, server);
    if server.has_only_new_waits() {
        rows.extend(compare_waits(waits_ms, &server.waits));
    }
    if let Some(live) = server.live {
        let left_behind = live.waiting + live.absent + live.ready + live.active;
        rows.push(ComparisonRow::between(
            "still in the line",
            (0, left_behind),
            0,
            crowd.unclear_ends(),
        ));
    }
    rows
}

fn compare_totals(crowd: &CrowdTotals, server: &ServerReport) -> Vec<ComparisonRow> {
    let (totals, unclear) = (&server.totals, crowd.unclear_ends());
    // What may be more than the crowd knows.
    let above = |name, crowd: u64, server: u64, more: u64| {
        ComparisonRow::between(name, (crowd, server), crowd, crowd + more)
    };
    let lapsed = totals.no_shows + totals.absences + totals.overlong_waits + totals.dismissed;
    let left_low = crowd.left.saturating_sub(crowd.left_slot);
    vec![
        above("entered", crowd.entered, totals.entered, crowd.may_have_entered),
        above(
            "let in at once",
            crowd.fast_tracked,
            totals.fast_tracked + totals.bypassed,
            crowd.may_have_entered,
        ),
        above(
            "promoted",
            crowd.promoted,
            totals.promoted,
            crowd.may_be_promoted + crowd.may_have_entered,
        ),
        above("claimed", crowd.claimed, totals.claimed, unclear),
        above("completed", crowd.completed, totals.completed, unclear),
        // A slot may time out between the last answer and the departure.
        ComparisonRow::between("left", (crowd.left, totals.left), left_low, crowd.left + unclear),
        above(
            "no-shows and absences",
            crowd.lapsed,
            lapsed,
            crowd.left_slot + unclear,
        ),
        above(
            "sessions run out",
            crowd.expired,
            totals.expired,
            crowd.left_slot + unclear,
        ),
        above("evicted", 0, totals.evicted, 0),
    ]
}

fn compare_waits(waits_ms: &[u64], server: &ServerWaits) -> Vec<ComparisonRow> {
    let known = waits_ms.len() as u64;
    let (Some(server_mean_ms), Some(server_max_ms)) = (server.mean_ms, server.max_ms) else {
        return Vec::new();
    };
    // Visitors who do not know of their promotion have waits, too.
    let unknown = usize::try_from(server.count.saturating_sub(known)).unwrap_or(usize::MAX);
    let count = server.count.max(1);
    let (sum_ms, max_ms) = (
        waits_ms.iter().sum::<u64>(),
        waits_ms.last().copied().unwrap_or_default(),
    );
    let mean_low = (sum_ms / count).saturating_sub(1);
    let mean_high = (sum_ms + unknown as u64 * server_max_ms) / count + 1;
    let mean = sum_ms.checked_div(known).unwrap_or_default();
    let max_high = if unknown == 0 { max_ms } else { u64::MAX };
    let percentiles = [
        ("wait, median (ms)", 50, server.p50_ms),
        ("wait, 90 % (ms)", 90, server.p90_ms),
        ("wait, 99 % (ms)", 99, server.p99_ms),
    ];
    let percentile_row = |(name, percent, of_server): (&'static str, usize, Option<u64>)| {
        let (low, high) = percentile_bounds(waits_ms, unknown, percent);
        let own = percentile(waits_ms, percent).unwrap_or_default();
        let low = low.map_or(0, |ms| scale(ms, 1.0 - server.relative_error).saturating_sub(1));
        let high = high.map_or(u64::MAX, |ms| scale(ms, 1.0 + server.relative_error) + 1);
        ComparisonRow::between(name, (own, of_server.unwrap_or_default()), low, high)
    };
    let mut rows = vec![ComparisonRow::between(
        "wait, mean (ms)",
        (mean, server_mean_ms),
        mean_low,
        mean_high,
    )];
    rows.extend(percentiles.map(percentile_row));
    rows.push(ComparisonRow::between(
        "wait, longest (ms)",
        (max_ms, server_max_ms),
        max_ms,
        max_high,
    ));
    rows
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]
fn scale(ms: u64, factor: f64) -> u64 {
    (ms as f64 * factor) as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crowd() -> CrowdTotals {
        CrowdTotals {
            arrived: 100,
            entered: 100,
            fast_tracked: 10,
            promoted: 80,
            may_be_promoted: 10,
            claimed: 75,
            completed: 85,
            left: 8,
            left_slot: 0,
            lapsed: 7,
            ..CrowdTotals::default()
        }
    }

    fn server(changes: &[(&str, u64)]) -> ServerReport {
        let mut totals = json!({
            "entered": 100, "fast_tracked": 10, "promoted": 80, "claimed": 75, "completed": 85, "left": 8, "no_shows": 7,
        });
        for (name, count) in changes {
            totals[*name] = json!(count);
        }
        let waits = json!({ "count": 80, "mean_ms": 40, "max_ms": 79, "p50_ms": 40, "p90_ms": 72, "p99_ms": 79,
            "relative_error": 0.0313 });
        let live = json!({ "waiting": 0, "absent": 0, "ready": 0, "active": 0 });
        let report = json!({ "totals": totals, "waits": waits, "peak": { "waiting": 50 }, "live": live });
        serde_json::from_value(report).expect("a report")
    }

    /// The rows that do not agree.
    fn differences(crowd: &CrowdTotals, server: &ServerReport) -> Vec<&'static str> {
        let waits: Vec<u64> = (0..80).collect();
        let rows = compare(crowd, &waits, server);
        rows.iter()
            .filter(|row| !row.agrees())
            .map(|row| row.name)
            .collect()
    }

    #[test]
    fn equal_figures_agree() {
        assert_eq!(differences(&crowd(), &server(&[])), Vec::<&str>::new());
    }

    #[test]
    fn a_figure_that_no_race_explains_is_named() {
        assert_eq!(differences(&crowd(), &server(&[("entered", 101)])), ["entered"]);
        assert_eq!(
            differences(&crowd(), &server(&[("completed", 84)])),
            ["completed"]
        );
        assert_eq!(differences(&crowd(), &server(&[("left", 9)])), ["left"]);
        assert_eq!(differences(&crowd(), &server(&[("evicted", 1)])), ["evicted"]);
    }

    #[test]
    fn a_promotion_that_a_leaver_missed_is_a_race() {
        assert_eq!(
            differences(&crowd(), &server(&[("promoted", 90)])),
            Vec::<&str>::new()
        );
        assert_eq!(differences(&crowd(), &server(&[("promoted", 91)])), ["promoted"]);
        assert_eq!(differences(&crowd(), &server(&[("promoted", 79)])), ["promoted"]);
    }

    #[test]
    fn waits_are_compared_within_the_error_of_the_histogram() {
        let mut report = server(&[]);
        report.waits.p50_ms = Some(60);
        assert_eq!(differences(&crowd(), &report), ["wait, median (ms)"]);
        report.waits.p50_ms = Some(40);
        report.waits.max_ms = Some(200);
        assert_eq!(differences(&crowd(), &report), ["wait, longest (ms)"]);
    }

    #[test]
    fn entries_that_are_left_behind_are_a_difference() {
        let mut report = server(&[]);
        report.live.as_mut().expect("live").ready = 1;
        assert_eq!(differences(&crowd(), &report), ["still in the line"]);
        let unclear = CrowdTotals {
            unknown: 1,
            ..crowd()
        };
        assert_eq!(differences(&unclear, &report), Vec::<&str>::new());
    }
}
