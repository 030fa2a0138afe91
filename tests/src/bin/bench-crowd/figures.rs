//! The figures of a crowd.

use std::{collections::BTreeMap, time::Duration};

use vestibule_tests::caching_proxy::OriginRequest;

use crate::{
    estimate_accuracy::{self, ShownEstimate},
    plan::CrowdKind,
    position_trail::PositionSample,
    visit::{End, Visit},
};

/// What a crowd left behind.
pub(crate) struct CrowdResult {
    pub(crate) kind: CrowdKind,
    pub(crate) queue: String,
    pub(crate) visits: Vec<Visit>,
    /// The requests of the crowd that reached the origin.
    pub(crate) origin_requests: Vec<OriginRequest>,
    /// The most polls that were held at once.
    pub(crate) held_max: u64,
    pub(crate) wall: Duration,
}

impl CrowdResult {
    /// Prints tables of the estimates, and then one `name=value` a line.
    pub(crate) fn print(&self) {
        let mut estimates: Vec<ShownEstimate> = self.visits.iter().flat_map(Visit::shown_estimates).collect();
        estimate_accuracy::print_tables(&mut estimates);
        self.print_visits();
        self.print_requests();
        self.print_positions();
        self.figure("estimates", estimates.len());
        self.figure("estimates_unknown", self.sum(|visit| visit.unknown));
        let coverage = estimate_accuracy::coverage(&estimates);
        self.figure("estimate_coverage_80", format!("{coverage:.3}"));
        let (by_document, by_answer): (Vec<_>, Vec<_>) =
            estimates.iter().partition(|estimate| estimate.is_by_document);
        for (name, part) in [("answers", by_answer), ("documents", by_document)] {
            let coverage = estimate_accuracy::coverage(&part);
            let width = estimate_accuracy::mean_relative_width(&part);
            self.figure(
                &format!("estimate_coverage_80_of_{name}"),
                format!("{coverage:.3}"),
            );
            self.figure(
                &format!("estimate_mean_relative_width_of_{name}"),
                format!("{width:.3}"),
            );
        }
        let error = estimate_accuracy::mean_relative_error(&estimates);
        self.figure("estimate_mean_relative_error", format!("{error:.3}"));
        self.figure("wall_s", self.wall.as_secs());
    }

    fn print_visits(&self) {
        let missed = self.count(|visit| visit.end == End::Lost);
        let overtaken = count_overtaken(&self.visits);
        self.figure("clients", self.visits.len());
        self.figure("served", self.count(|visit| visit.end == End::Served));
        self.figure("left", self.count(|visit| visit.end == End::Left));
        self.figure("vanished", self.count(|visit| visit.end == End::Vanished));
        self.figure("came_back", self.count(|visit| visit.has_come_back));
        self.figure("missed_turns", missed);
        self.figure("overtaken_turns", overtaken);
        self.figure("lost_turns", missed + overtaken);
        let delays = self.visits.iter().filter(|visit| visit.is_follower);
        let mut delays: Vec<u64> = delays
            .filter_map(|visit| Some(visit.claimed_at_ms?.saturating_sub(visit.promoted_at_ms?)))
            .collect();
        delays.sort_unstable();
        self.figure("promotion_to_claim_median_ms", percentile(&delays, 50));
        self.figure("promotion_to_claim_p99_ms", percentile(&delays, 99));
    }

    fn print_requests(&self) {
        let document_path = format!("/queues/{}", self.queue);
        let renewals = self
            .origin_requests
            .iter()
            .filter(|request| request.path == document_path);
        let mut by_second = BTreeMap::<u64, u64>::new();
        for request in &self.origin_requests {
            *by_second.entry(request.at_s).or_default() += 1;
        }
        self.figure(
            "origin_calls_per_visitor",
            self.per_visitor(self.origin_requests.len() as u64),
        );
        self.figure("origin_document_reads", renewals.count());
        self.figure("origin_peak_rps", by_second.into_values().max().unwrap_or(0));
        let documents = self.sum(|visit| visit.counts.documents);
        self.figure("document_reads_per_visitor", self.per_visitor(documents));
        self.figure(
            "polls_per_visitor",
            self.per_visitor(self.sum(|visit| visit.counts.polls)),
        );
        self.figure("failed_calls", self.sum(|visit| visit.counts.failures));
        self.figure("held_max", self.held_max);
    }

    fn print_positions(&self) {
        self.figure("positions_risen", self.sum(|visit| visit.positions.rises));
        let older = self.sum(|visit| visit.positions.older_documents);
        self.figure("documents_older_than_answer", older);
        self.print_position_errors("position", |visit| &visit.positions.read_samples);
        self.print_position_errors("shown_position", |visit| &visit.positions.shown_samples);
    }

    fn print_position_errors(&self, name: &str, samples: fn(&Visit) -> &[PositionSample]) {
        let samples: Vec<PositionSample> = self.visits.iter().flat_map(samples).copied().collect();
        let mean = |error: fn(PositionSample) -> f64| {
            let sum = samples.iter().fold(0.0, |sum, sample| sum + error(*sample));
            sum / as_f64(samples.len() as u64).max(1.0)
        };
        let (entries, relative) = (mean(PositionSample::error), mean(PositionSample::relative_error));
        self.figure(&format!("{name}_samples"), samples.len());
        self.figure(&format!("{name}_error_mean"), format!("{entries:.1}"));
        self.figure(&format!("{name}_error_mean_relative"), format!("{relative:.4}"));
    }

    /// Prints one figure. The names of the second crowd say so.
    fn figure(&self, name: &str, value: impl std::fmt::Display) {
        let suffix = match self.kind {
            CrowdKind::WithoutReturns => "",
            CrowdKind::WithReturns => "_with_returns",
        };
        println!("{name}{suffix}={value}");
    }

    fn count(&self, condition: impl Fn(&Visit) -> bool) -> usize {
        self.visits.iter().filter(|visit| condition(visit)).count()
    }

    fn sum(&self, number: impl Fn(&Visit) -> u64) -> u64 {
        self.visits.iter().map(number).sum()
    }

    fn per_visitor(&self, number: u64) -> String {
        format!(
            "{:.2}",
            as_f64(number) / as_f64(self.visits.len() as u64).max(1.0)
        )
    }
}

/// The visitors who followed the protocol and were promoted after a visitor with a later place.
fn count_overtaken(visits: &[Visit]) -> usize {
    let mut turns: Vec<_> = visits
        .iter()
        .filter_map(|visit| Some((visit.place?, visit.promoted_at_ms?, visit.is_follower)))
        .collect();
    turns.sort_unstable();
    let (mut overtaken, mut first_behind_ms) = (0, u64::MAX);
    for (_, promoted_at_ms, is_follower) in turns.into_iter().rev() {
        overtaken += usize::from(is_follower && promoted_at_ms > first_behind_ms);
        first_behind_ms = first_behind_ms.min(promoted_at_ms);
    }
    overtaken
}

/// A percentile of sorted numbers; 0 if there are none.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

#[allow(clippy::cast_precision_loss)] // Some hundred thousand requests.
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_is_the_nearest_rank() {
        let numbers: Vec<u64> = (1..=200).collect();
        assert_eq!((percentile(&numbers, 50), percentile(&numbers, 99)), (100, 198));
        assert_eq!((percentile(&[7], 99), percentile(&[], 99)), (7, 0));
    }
}
