//! What a crowd costs, at list prices.

use super::{
    crowd_sizing::{Cache, CrowdDemand, CrowdSizing},
    facts::{
        API_GB, API_REQUEST, CACHE_ECPU, CACHE_GB_HOUR, CACHE_GB_MIN, CACHE_NODE_HOUR, CDN_FUNCTION, CDN_GB,
        CDN_REQUEST, DOCUMENT_GB, ECPU_PER_POLL, FUNCTION_GB, FUNCTION_GB_SECOND, FUNCTION_REQUEST, Fact,
        GB_PER_ENTRY, LOG_GB, LOG_LINE_GB, READS_PER_VISITOR, REQUEST_SECONDS, STATUS_GB, TABLE_READ,
        TABLE_WRITE, WRITES_PER_VISITOR,
    },
    load::held_polls,
};
use vestibule_domain::settings::Settings;

/// Nodes of a cache that is not serverless: a primary and a replica.
const NODES: f64 = 2.0;
/// Hours that the deployment runs besides the sale, for warming up and for what comes after.
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

/// What a deployment was used for, as far as that is charged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// Requests of visitors about their entries.
    pub visitor_requests: f64,
    /// Requests of the protected service, which go past the CDN.
    pub service_requests: f64,
    /// Reads of the public document.
    pub document_reads: f64,
    /// How long polls were held in all, in seconds.
    pub held_seconds: f64,
    /// Visitors who entered.
    pub entered: f64,
    /// How long the deployment runs, in hours.
    pub hours: f64,
    /// The cache that holds the line.
    pub cache: Cache,
    /// Whether a CDN answers the reads of the public document.
    pub has_cdn: bool,
}

impl Usage {
    /// The bill, the dearest item first.
    pub fn items(&self) -> Vec<CostItem> {
        let of_entries = self.visitor_requests + self.service_requests;
        let to_api = of_entries + if self.has_cdn { 0.0 } else { self.document_reads };
        let function_gb_seconds =
            to_api * REQUEST_SECONDS.value * FUNCTION_GB.value + self.held_seconds * STATUS_GB.value;
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
                self.entered * WRITES_PER_VISITOR.value,
                TABLE_WRITE,
            ),
            item("table reads", self.entered * READS_PER_VISITOR.value, TABLE_READ),
            item("logs, GB", to_api * LOG_LINE_GB.value, LOG_GB),
        ];
        if self.has_cdn {
            let cdn_requests = self.document_reads + self.visitor_requests;
            items.push(item("CDN requests", cdn_requests, CDN_REQUEST));
            items.push(item("CDN functions", cdn_requests, CDN_FUNCTION));
            items.push(item("CDN traffic, GB", cdn_requests * DOCUMENT_GB.value, CDN_GB));
        } else {
            items.push(item("API traffic, GB", to_api * DOCUMENT_GB.value, API_GB));
        }
        match self.cache {
            Cache::Serverless => {
                let gb = (self.entered * GB_PER_ENTRY.value).max(CACHE_GB_MIN.value);
                items.push(item("cache, ECPU", of_entries * ECPU_PER_POLL.value, CACHE_ECPU));
                items.push(item("cache, GB-hours", gb * self.hours, CACHE_GB_HOUR));
            }
            Cache::Node => items.push(item("cache, node-hours", NODES * self.hours, CACHE_NODE_HOUR)),
        }
        sort_by_dollars(&mut items);
        items
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
        Self::at_pace(demand, sizing.pace, settings)
    }

    /// Computes the cost of a crowd that is let in at this pace per second, whether or not a part is too small for it.
    pub fn at_pace(demand: &CrowdDemand, pace: f64, settings: &Settings) -> Self {
        let load = demand.load(settings);
        let visitors = load.visitors;
        let status_requests = load.status_requests_per_visitor(pace);
        let document_reads_per_visitor = load.document_reads_per_visitor(pace);
        // Entering and claiming; the checks and the end.
        let own = 2.0 + status_requests;
        let of_service = f64::from(demand.checks) + 1.0;
        let usage = Usage {
            visitor_requests: visitors * own,
            service_requests: visitors * of_service,
            document_reads: visitors * document_reads_per_visitor,
            // As many polls are held at once as the budget has room for.
            held_seconds: visitors * held_polls(pace) / pace,
            entered: visitors,
            hours: hours_of_crowd(demand, pace, settings),
            cache: demand.cache,
            has_cdn: demand.has_cdn,
        };
        Self {
            items: usage.items(),
            requests_per_visitor: own + of_service,
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
fn hours_of_crowd(demand: &CrowdDemand, pace: f64, settings: &Settings) -> f64 {
    let load = demand.load(settings);
    (load.arrives_in_seconds() + load.longest_wait_seconds(pace)) / 3_600.0 + HOURS_BESIDE
}

fn sort_by_dollars(items: &mut [CostItem]) {
    items.sort_by(|a, b| b.dollars().total_cmp(&a.dollars()));
}

/// The sum of a bill, in US dollars.
pub fn total_dollars(items: &[CostItem]) -> f64 {
    items.iter().map(CostItem::dollars).sum()
}

fn item(what: &'static str, units: f64, price: Fact) -> CostItem {
    CostItem { what, units, price }
}
