//! What a crowd costs, at list prices.

use super::{
    facts::{
        API_GB, API_REQUEST, CACHE_ECPU, CACHE_GB_HOUR, CACHE_GB_MIN, CACHE_NODE_HOUR, CDN_FUNCTION, CDN_GB,
        CDN_REQUEST, DOCUMENT_GB, ECPU_PER_POLL, FUNCTION_GB, FUNCTION_GB_SECOND, FUNCTION_REQUEST, Fact,
        GB_PER_ENTRY, LOG_GB, LOG_LINE_GB, READS_PER_VISITOR, REQUEST_SECONDS, STATUS_GB, TABLE_READ,
        TABLE_WRITE, WRITES_PER_VISITOR,
    },
    load::held_polls,
    sizing::{Cache, CrowdDemand, CrowdSizing},
};
use crate::settings::Settings;

/// Nodes of a cache that is not serverless: a primary and a replica.
pub(super) const NODES: f64 = 2.0;
/// Hours that the deployment runs beside the sale, for warming up and for what comes after.
const HOURS_BESIDE: f64 = 2.0;

/// How visitors learn that their turn comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// By the public document, until they are called.
    FollowDocument,
    /// By their own entries alone, as all clients did before there was a public document.
    PollEntry,
}

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
    /// Computes the cost of a crowd.
    pub fn of_crowd(demand: &CrowdDemand, sizing: &CrowdSizing, settings: &Settings) -> Self {
        Self::at_pace(demand, sizing.pace, settings, Clients::FollowDocument)
    }

    /// Computes the cost of a crowd that is let in at this pace per second, whether or not a part is too small for it.
    pub fn at_pace(demand: &CrowdDemand, pace: f64, settings: &Settings, clients: Clients) -> Self {
        let load = demand.load(settings);
        let visitors = load.visitors;
        let (status_requests, document_reads_per_visitor) = match clients {
            Clients::FollowDocument => (
                load.status_requests_per_visitor(pace),
                load.document_reads_per_visitor(pace),
            ),
            Clients::PollEntry => (load.earlier_polls_per_visitor(pace), 0.0),
        };
        // Entering and claiming; the checks and the end.
        let own = 2.0 + status_requests;
        let of_service = f64::from(demand.checks) + 1.0;
        let requests_per_visitor = own + of_service;
        let document_reads = visitors * document_reads_per_visitor;
        let to_api = visitors * requests_per_visitor + if demand.has_cdn { 0.0 } else { document_reads };
        // As many polls are held at once as the budget has room for.
        let held_seconds_per_visitor = held_polls(pace) / pace;
        let hours = hours_of_crowd(demand, pace, settings);
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
        if demand.has_cdn {
            let cdn_requests = document_reads + visitors * own;
            items.push(item("CDN requests", cdn_requests, CDN_REQUEST));
            items.push(item("CDN functions", cdn_requests, CDN_FUNCTION));
            items.push(item("CDN traffic, GB", cdn_requests * DOCUMENT_GB.value, CDN_GB));
        } else {
            items.push(item("API traffic, GB", to_api * DOCUMENT_GB.value, API_GB));
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
        sort_by_dollars(&mut items);
        Self {
            items,
            requests_per_visitor,
            document_reads_per_visitor,
        }
    }

    /// The whole cost in US dollars.
    pub fn dollars(&self) -> f64 {
        total_dollars(&self.items)
    }

    /// The units of an item: zero if there is no such item.
    pub fn units(&self, what: &str) -> f64 {
        let item = self.items.iter().find(|item| item.what == what);
        item.map_or(0.0, |item| item.units)
    }
}

/// How long the deployment runs for a crowd, in hours.
pub(super) fn hours_of_crowd(demand: &CrowdDemand, pace: f64, settings: &Settings) -> f64 {
    let load = demand.load(settings);
    (load.arrives_in_seconds() + load.longest_wait_seconds(pace)) / 3_600.0 + HOURS_BESIDE
}

pub(super) fn sort_by_dollars(items: &mut [CostItem]) {
    items.sort_by(|a, b| b.dollars().total_cmp(&a.dollars()));
}

pub(super) fn total_dollars(items: &[CostItem]) -> f64 {
    items.iter().map(CostItem::dollars).sum()
}

pub(super) fn item(what: &'static str, units: f64, price: Fact) -> CostItem {
    CostItem { what, units, price }
}
