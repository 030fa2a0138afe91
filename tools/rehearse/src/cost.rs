//! What the requests of a rehearsal cost in a deployment, by the list prices of the sizing.

use std::time::Duration;

use serde::Serialize;
use vestibule_crowd::{act::Act, ledger::ActFigures};
use vestibule_sizing::{
    cost::{CostItem, Usage, total_dollars},
    crowd_sizing::Cache,
    facts::FACTS_OF,
};

/// The deployment that is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaidDeployment {
    /// Whether a CDN answers the reads of the public document.
    pub(crate) has_cdn: bool,
    /// The cache that holds the line.
    pub(crate) cache: Cache,
}

/// What a rehearsal has cost so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CostFigures {
    /// The month of the prices.
    pub(crate) prices_of: &'static str,
    /// What is charged, the dearest first.
    pub(crate) items: Vec<CostLine>,
    /// The sum in US dollars.
    pub(crate) dollars: f64,
}

/// One line of the bill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CostLine {
    /// What is charged.
    pub(crate) what: &'static str,
    /// How many units.
    pub(crate) units: f64,
    /// What they cost, in US dollars.
    pub(crate) dollars: f64,
}

impl CostFigures {
    /// Computes the cost of these requests, sent within `duration`.
    pub(crate) fn of_requests(
        requests: &[ActFigures],
        entered: u64,
        duration: Duration,
        deployment: PaidDeployment,
    ) -> Self {
        let count = |is_meant: fn(Act) -> bool| {
            let meant = requests.iter().filter(|figures| is_meant(figures.act));
            as_f64(meant.map(|figures| figures.requests).sum())
        };
        let held = requests
            .iter()
            .filter(|figures| matches!(figures.act, Act::HeldPoll { .. }));
        let usage = Usage {
            visitor_requests: count(|act| act != Act::Document && !act.is_of_service()),
            service_requests: count(Act::is_of_service),
            document_reads: count(|act| act == Act::Document),
            held_seconds: held.map(|figures| figures.total_seconds).sum(),
            entered: as_f64(entered),
            hours: duration.as_secs_f64() / 3_600.0,
            cache: deployment.cache,
            has_cdn: deployment.has_cdn,
        };
        let items = usage.items();
        Self {
            prices_of: FACTS_OF,
            dollars: total_dollars(&items),
            items: items.iter().map(CostLine::from).collect(),
        }
    }
}

impl From<&CostItem> for CostLine {
    fn from(item: &CostItem) -> Self {
        Self {
            what: item.what,
            units: item.units,
            dollars: item.dollars(),
        }
    }
}

#[allow(clippy::cast_precision_loss)] // Some million requests.
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use vestibule_crowd::ledger::Ledger;

    use super::*;

    fn cost(has_cdn: bool, cache: Cache) -> CostFigures {
        let ledger = Ledger::default();
        for act in [Act::Document, Act::Poll, Act::Validate] {
            for _ in 0..1_000 {
                ledger.record(act, Duration::from_millis(1), None);
            }
        }
        ledger.record(Act::HeldPoll { seconds: 5 }, Duration::from_secs(4), None);
        let deployment = PaidDeployment { has_cdn, cache };
        CostFigures::of_requests(&ledger.figures(), 100, Duration::from_hours(1), deployment)
    }

    fn units(cost: &CostFigures, what: &str) -> Option<f64> {
        let line = cost.items.iter().find(|line| line.what == what);
        line.map(|line| (line.units * 1e6).round() / 1e6)
    }

    #[test]
    fn a_cdn_keeps_the_reads_of_the_document_from_the_api() {
        assert_eq!(
            units(&cost(false, Cache::Serverless), "API requests"),
            Some(3_001.0)
        );
        let with_cdn = cost(true, Cache::Serverless);
        assert_eq!(units(&with_cdn, "API requests"), Some(2_001.0));
        assert_eq!(
            units(&with_cdn, "CDN requests"),
            Some(2_001.0),
            "the service goes past the CDN"
        );
    }

    #[test]
    fn held_time_is_paid_beside_the_requests() {
        assert_eq!(
            units(&cost(true, Cache::Serverless), "function time, GB-seconds"),
            Some(11.005)
        );
    }

    #[test]
    fn an_hour_of_nodes_costs_two_nodes() {
        let nodes = cost(true, Cache::Node);
        assert_eq!(units(&nodes, "cache, node-hours"), Some(2.0));
        assert_eq!(units(&nodes, "cache, ECPU"), None);
        let sum: f64 = nodes.items.iter().map(|line| line.dollars).sum();
        assert!((nodes.dollars - sum).abs() < 1e-9);
    }
}
