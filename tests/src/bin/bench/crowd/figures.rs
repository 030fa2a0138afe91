//! The figures of a crowd.

use std::{collections::BTreeMap, time::Duration};

use vestibule_crowd::{
    checks::count_overtaken_visits,
    record::{VisitEnd, VisitRecord},
};
use vestibule_tests::caching_proxy::OriginRequest;

use super::{
    estimate_accuracy::{self, ShownEstimate},
    plan::CrowdKind,
    position_trail::PositionSample,
    visit::Visit,
};
use crate::figures::{as_f64, mean, percentile, print_figure, ratio};

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
        self.count("estimates", estimates.len() as u64);
        self.count(
            "estimates_unknown",
            self.sum(|visit| visit.record.unknown_estimates),
        );
        let coverage = estimate_accuracy::coverage(&estimates);
        self.figure("estimate_coverage_80", coverage, 3);
        let (by_document, by_answer): (Vec<_>, Vec<_>) =
            estimates.iter().partition(|estimate| estimate.is_by_document);
        for (name, part) in [("answers", by_answer), ("documents", by_document)] {
            let coverage = estimate_accuracy::coverage(&part);
            let width = estimate_accuracy::mean_relative_width(&part);
            self.figure(&format!("estimate_coverage_80_of_{name}"), coverage, 3);
            self.figure(&format!("estimate_mean_relative_width_of_{name}"), width, 3);
        }
        let error = estimate_accuracy::mean_relative_error(&estimates);
        self.figure("estimate_mean_relative_error", error, 3);
        self.count("wall_s", self.wall.as_secs());
    }

    fn print_visits(&self) {
        let records: Vec<VisitRecord> = self.visits.iter().map(|visit| visit.record.clone()).collect();
        let missed = self.count_visits(VisitRecord::is_lost);
        let overtaken = count_overtaken_visits(&records);
        let ended = |end: VisitEnd| self.count_visits(|record| record.end.as_ref() == Some(&end));
        self.count("clients", records.len() as u64);
        self.count("served", ended(VisitEnd::Completed));
        self.count("left", ended(VisitEnd::LeftLine));
        self.count("vanished", ended(VisitEnd::Vanished));
        self.count("came_back", self.count_visits(|record| record.has_come_back));
        self.count("missed_turns", missed);
        self.count("overtaken_turns", overtaken);
        self.count("lost_turns", missed + overtaken);
        let followers = self.visits.iter().filter(|visit| visit.is_follower());
        let delays: Vec<f64> = followers
            .filter(|visit| visit.record.is_promoted)
            .filter_map(|visit| Some(visit.record.claimed_at_ms? - as_f64(visit.record.promoted_at_ms?)))
            .collect();
        for (name, percent) in [("median", 50), ("p99", 99)] {
            let delay_ms = percentile(delays.iter().copied(), percent);
            self.figure(&format!("promotion_to_claim_{name}_ms"), delay_ms, 0);
        }
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
        let documents = self.sum(|visit| visit.record.document_reads);
        let (sent, passed_on) = (
            self.sum(|visit| visit.record.requests),
            self.origin_requests.len() as u64,
        );
        self.figure("origin_calls_per_visitor", self.per_visitor(passed_on), 2);
        self.figure("origin_calls_vs_sent", ratio(passed_on, sent), 3);
        self.count("origin_document_reads", renewals.count() as u64);
        self.count("origin_peak_rps", by_second.into_values().max().unwrap_or(0));
        self.figure("document_reads_per_visitor", self.per_visitor(documents), 2);
        let polls = self.sum(|visit| visit.record.polls);
        self.figure("polls_per_visitor", self.per_visitor(polls), 2);
        self.count("failed_calls", self.sum(|visit| visit.record.failures));
        self.count("held_max", self.held_max);
    }

    fn print_positions(&self) {
        self.count("positions_risen", self.sum(|visit| visit.positions.rises));
        let older = self.sum(|visit| visit.positions.older_documents);
        self.count("documents_older_than_answer", older);
        self.print_position_errors("position", |visit| &visit.positions.read_samples);
        self.print_position_errors("shown_position", |visit| &visit.positions.shown_samples);
    }

    fn print_position_errors(&self, name: &str, samples: fn(&Visit) -> &[PositionSample]) {
        let samples: Vec<PositionSample> = self.visits.iter().flat_map(samples).copied().collect();
        let mean_of = |error: fn(PositionSample) -> f64| mean(samples.iter().map(|sample| error(*sample)));
        let (entries, relative) = (
            mean_of(PositionSample::error),
            mean_of(PositionSample::relative_error),
        );
        self.count(&format!("{name}_samples"), samples.len() as u64);
        self.figure(&format!("{name}_error_mean"), entries, 1);
        self.figure(&format!("{name}_error_mean_relative"), relative, 4);
    }

    /// Prints one figure with so many decimals.
    fn figure(&self, name: &str, value: f64, decimals: usize) {
        // The names of the second crowd say so.
        let suffix = match self.kind {
            CrowdKind::WithoutReturns => "",
            CrowdKind::WithReturns => "_with_returns",
        };
        print_figure(format!("{name}{suffix}"), value, decimals);
    }

    fn count(&self, name: &str, count: u64) {
        self.figure(name, as_f64(count), 0);
    }

    fn count_visits(&self, condition: impl Fn(&VisitRecord) -> bool) -> u64 {
        self.sum(|visit| u64::from(condition(&visit.record)))
    }

    fn sum(&self, number: impl Fn(&Visit) -> u64) -> u64 {
        self.visits.iter().map(number).sum()
    }

    fn per_visitor(&self, number: u64) -> f64 {
        ratio(number, self.visits.len() as u64)
    }
}
