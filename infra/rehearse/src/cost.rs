//! What the requests of a rehearsal cost in a deployment, by the list prices of the sizing.

use std::time::Duration;

use serde::Serialize;
use vestibule_domain::crowd_sizing::{
    cost::CostItem,
    facts::{
        API_REQUEST, CACHE_ECPU, CACHE_GB_HOUR, CACHE_GB_MIN, CACHE_NODE_HOUR, CDN_GB, CDN_REQUEST,
        DOCUMENT_GB, ECPU_PER_POLL, FACTS_OF, FUNCTION_GB, FUNCTION_GB_SECOND, FUNCTION_REQUEST, Fact,
        LOG_GB, LOG_LINE_GB, READS_PER_VISITOR, REQUEST_SECONDS, STATUS_GB, TABLE_READ, TABLE_WRITE,
        WRITES_PER_VISITOR,
    },
};

use crate::{ledger::OperationFigures, operation::Operation};

/// The nodes of a cache that is not serverless: a primary and a replica.
const NODES: f64 = 2.0;

/// The deployment that is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaidDeployment {
    /// Whether a CDN answers the reads of the public document.
    pub(crate) has_cdn: bool,
    /// Whether the cache has nodes, and is not serverless.
    pub(crate) has_nodes: bool,
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
        requests: &[OperationFigures],
        entered: u64,
        duration: Duration,
        deployment: PaidDeployment,
    ) -> Self {
        let count = |is_meant: fn(Operation) -> bool| {
            let meant = requests.iter().filter(|figures| is_meant(figures.operation));
            as_f64(meant.map(|figures| figures.requests).sum())
        };
        let documents = count(|operation| operation == Operation::Document);
        let of_visitors = count(|operation| operation != Operation::Document && !operation.is_of_service());
        let of_entries = of_visitors + count(Operation::is_of_service);
        let to_api = of_entries + if deployment.has_cdn { 0.0 } else { documents };
        let held = requests
            .iter()
            .filter(|figures| figures.operation == Operation::HeldPoll);
        let held_seconds: f64 = held.map(|figures| figures.total_seconds).sum();
        let function_gb_seconds =
            to_api * REQUEST_SECONDS.value * FUNCTION_GB.value + held_seconds * STATUS_GB.value;
        let mut items = vec![
            item("API requests", to_api, API_REQUEST),
            item("function requests", to_api, FUNCTION_REQUEST),
            item(
                "function time, GB-seconds",
                function_gb_seconds,
                FUNCTION_GB_SECOND,
            ),
            item(
                "table writes",
                as_f64(entered) * WRITES_PER_VISITOR.value,
                TABLE_WRITE,
            ),
            item(
                "table reads",
                as_f64(entered) * READS_PER_VISITOR.value,
                TABLE_READ,
            ),
            item("logs, GB", to_api * LOG_LINE_GB.value, LOG_GB),
        ];
        if deployment.has_cdn {
            let cdn_requests = documents + of_visitors;
            items.push(item("CDN requests", cdn_requests, CDN_REQUEST));
            items.push(item("CDN traffic, GB", cdn_requests * DOCUMENT_GB.value, CDN_GB));
        }
        let hours = duration.as_secs_f64() / 3_600.0;
        if deployment.has_nodes {
            items.push(item("cache, node-hours", NODES * hours, CACHE_NODE_HOUR));
        } else {
            items.push(item("cache, ECPU", of_entries * ECPU_PER_POLL.value, CACHE_ECPU));
            items.push(item("cache, GB-hours", CACHE_GB_MIN.value * hours, CACHE_GB_HOUR));
        }
        items.sort_by(|a, b| b.dollars().total_cmp(&a.dollars()));
        Self {
            prices_of: FACTS_OF,
            dollars: items.iter().map(CostItem::dollars).sum(),
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

fn item(what: &'static str, units: f64, price: Fact) -> CostItem {
    CostItem { what, units, price }
}

#[allow(clippy::cast_precision_loss)] // Some million requests.
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;

    fn cost(has_cdn: bool, has_nodes: bool) -> CostFigures {
        let ledger = Ledger::default();
        for operation in [Operation::Document, Operation::Poll, Operation::Validate] {
            for _ in 0..1_000 {
                ledger.record(operation, Duration::from_millis(1), None);
            }
        }
        ledger.record(Operation::HeldPoll, Duration::from_secs(4), None);
        let deployment = PaidDeployment { has_cdn, has_nodes };
        CostFigures::of_requests(&ledger.figures(), 100, Duration::from_hours(1), deployment)
    }

    fn units(cost: &CostFigures, what: &str) -> Option<f64> {
        let line = cost.items.iter().find(|line| line.what == what);
        line.map(|line| (line.units * 1e6).round() / 1e6)
    }

    #[test]
    fn a_cdn_keeps_the_reads_of_the_document_from_the_api() {
        assert_eq!(units(&cost(false, false), "API requests"), Some(3_001.0));
        let with_cdn = cost(true, false);
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
            units(&cost(true, false), "function time, GB-seconds"),
            Some(11.005)
        );
    }

    #[test]
    fn an_hour_of_nodes_costs_two_nodes() {
        let nodes = cost(true, true);
        assert_eq!(units(&nodes, "cache, node-hours"), Some(2.0));
        assert_eq!(units(&nodes, "cache, ECPU"), None);
        let sum: f64 = nodes.items.iter().map(|line| line.dollars).sum();
        assert!((nodes.dollars - sum).abs() < 1e-9);
    }
}
