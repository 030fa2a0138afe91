//! What a crowd costs, at list prices.

use super::{
    facts::{
        API_REQUEST, CACHE_ECPU, CACHE_GB_HOUR, CACHE_GB_MIN, CACHE_NODE_HOUR, CDN_GB, CDN_REQUEST,
        DOCUMENT_GB, ECPU_PER_POLL, FUNCTION_GB, FUNCTION_GB_SECOND, FUNCTION_REQUEST, Fact, GB_PER_ENTRY,
        LOG_GB, LOG_LINE_GB, READS_PER_VISITOR, REQUEST_SECONDS, STATUS_GB, TABLE_READ, TABLE_WRITE,
        WRITES_PER_VISITOR,
    },
    load::held_polls,
    sizing::{Cache, CrowdDemand, CrowdSizing},
};
use crate::settings::Settings;

/// Nodes of a cache that is not serverless: a primary and a replica.
const NODES: f64 = 2.0;
/// Hours that the deployment runs beside the sale, for warming up and for what comes after.
const HOURS_BESIDE: f64 = 2.0;
/// One line of a bill.
#[derive(Debug, Clone, PartialEq)]
pub struct CostItem {
    /// What is charged.
    pub what: &'static str,
    /// How many units.
    pub units: f64,
    /// The price of a unit.
    pub price: Fact,
}

impl CostItem {
    /// The cost in US dollars.
    pub fn dollars(&self) -> f64 {
        self.units * self.price.value
    }
}

/// What a crowd costs.
#[derive(Debug, Clone, PartialEq)]
pub struct CrowdCost {
    /// What is charged, the dearest first.
    pub items: Vec<CostItem>,
    /// Requests of a visitor to the API, on average.
    pub requests_per_visitor: f64,
    /// Reads of the public document by a visitor, on average.
    pub document_reads_per_visitor: f64,
}

impl CrowdCost {
    /// Computes the cost of a crowd. Without `has_cdn`, the API answers the reads of the public document.
    pub fn of_crowd(demand: &CrowdDemand, sizing: &CrowdSizing, settings: &Settings, has_cdn: bool) -> Self {
        let load = demand.load(settings);
        let visitors = load.visitors;
        // Entering and claiming; the checks and the end.
        let own = 2.0 + load.status_requests_per_visitor(sizing.pace);
        let of_service = f64::from(demand.checks) + 1.0;
        let document_reads_per_visitor = load.document_reads_per_visitor(sizing.pace);
        let requests_per_visitor = own + of_service;
        let document_reads = visitors * document_reads_per_visitor;
        let to_api = visitors * requests_per_visitor + if has_cdn { 0.0 } else { document_reads };
        // As many polls are held at once as the budget has room for.
        let held_seconds_per_visitor = held_polls(sizing.pace) / sizing.pace;
        let hours = (load.arrives_in_seconds() + sizing.wait_longest_seconds) / 3_600.0 + HOURS_BESIDE;
        let mut items = vec![
            item("API requests", to_api, API_REQUEST),
            item("function requests", to_api, FUNCTION_REQUEST),
            item(
                "function time, GB-seconds",
                to_api * REQUEST_SECONDS.value * FUNCTION_GB.value
                    + visitors * held_seconds_per_visitor * STATUS_GB.value,
                FUNCTION_GB_SECOND,
            ),
            item("table writes", visitors * WRITES_PER_VISITOR.value, TABLE_WRITE),
            item("table reads", visitors * READS_PER_VISITOR.value, TABLE_READ),
            item("logs, GB", to_api * LOG_LINE_GB.value, LOG_GB),
        ];
        if has_cdn {
            let cdn_requests = document_reads + visitors * own;
            items.push(item("CDN requests", cdn_requests, CDN_REQUEST));
            items.push(item("CDN traffic, GB", cdn_requests * DOCUMENT_GB.value, CDN_GB));
        }
        match demand.cache {
            Cache::Serverless => {
                let ecpu = visitors * requests_per_visitor * ECPU_PER_POLL.value;
                let gb = (visitors * GB_PER_ENTRY.value).max(CACHE_GB_MIN.value);
                items.push(item("cache, ECPU", ecpu, CACHE_ECPU));
                items.push(item("cache, GB-hours", gb * hours, CACHE_GB_HOUR));
            }
            Cache::Node => items.push(item("cache, node-hours", NODES * hours, CACHE_NODE_HOUR)),
        }
        items.sort_by(|a, b| b.dollars().total_cmp(&a.dollars()));
        Self {
            items,
            requests_per_visitor,
            document_reads_per_visitor,
        }
    }

    /// The whole cost in US dollars.
    pub fn dollars(&self) -> f64 {
        self.items.iter().map(CostItem::dollars).sum()
    }
}

fn item(what: &'static str, units: f64, price: Fact) -> CostItem {
    CostItem { what, units, price }
}
