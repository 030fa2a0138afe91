//! What the same crowd costs in several deployments: the rows of `docs/cost.md`.

use super::{
    cost::CrowdCost,
    crowd_sizing::{Cache, CrowdDemand},
    facts::GATEWAY_PER_SECOND,
};
use vestibule_domain::settings::Settings;

/// The crowd of the table: a million visitors who come within half an hour, and wait for as long on average.
pub const MILLION: CrowdDemand = CrowdDemand {
    visitors: 1_000_000,
    arrival_seconds: 1_800,
    wait_seconds: 1_800,
    session_seconds: 300,
    checks: 0,
    cache: Cache::Node,
    has_cdn: true,
};
/// The numbers of checks that the table shows.
pub const CHECKS_SHOWN: [u32; 2] = [0, 6];

/// A deployment, and what a crowd costs there.
#[derive(Debug, Clone, PartialEq)]
pub struct CostRow {
    /// The deployment.
    pub deployment: &'static str,
    /// Requests for a visitor that reach an API, without checks.
    pub api_requests_per_visitor: f64,
    /// Requests of a visitor to a CDN.
    pub cdn_requests_per_visitor: f64,
    /// How much of the default quota of API Gateway the busiest time takes, without checks.
    pub gateway_share: f64,
    /// How much of the hash slot of one queue the busiest time takes, without checks.
    pub slot_share: f64,
    /// The cost in US dollars, for each number of [`CHECKS_SHOWN`].
    pub dollars: [f64; 2],
}

/// The rows for a crowd that waits as long as wished, whether or not a part is too small for that.
pub fn cost_rows(demand: &CrowdDemand, settings: &Settings) -> Vec<CostRow> {
    let load = demand.load(settings);
    let pace = load.pace_for_mean_wait(demand.wait_seconds);
    let deployments = [
        ("REST API alone, serverless cache", Cache::Serverless, false),
        ("with CDN, serverless cache", Cache::Serverless, true),
        ("with CDN, node-based cache", Cache::Node, true),
    ];
    deployments
        .map(|(deployment, cache, has_cdn)| {
            let demand = CrowdDemand {
                cache,
                has_cdn,
                ..*demand
            };
            row(&demand, pace, settings, deployment)
        })
        .to_vec()
}

fn row(demand: &CrowdDemand, pace: f64, settings: &Settings, deployment: &'static str) -> CostRow {
    let costs =
        CHECKS_SHOWN.map(|checks| CrowdCost::at_pace(&CrowdDemand { checks, ..*demand }, pace, settings));
    let load = demand.load(settings);
    let reads_at_api = if demand.has_cdn {
        0.0
    } else {
        load.document_reads_per_second(pace)
    };
    // Entering, claims and ends come beside.
    let api_per_second =
        load.entering_per_second + load.status_requests_per_second(pace) + 2.0 * pace + reads_at_api;
    CostRow {
        deployment,
        api_requests_per_visitor: costs[0].units("API requests") / load.visitors,
        cdn_requests_per_visitor: costs[0].units("CDN requests") / load.visitors,
        gateway_share: api_per_second / GATEWAY_PER_SECOND.value,
        slot_share: load.slot_polls_per_second(pace) / f64::from(demand.cache.slot_polls_per_second()),
        dollars: costs.map(|cost| cost.dollars()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_aims_are_met() {
        let rows = cost_rows(&MILLION, &Settings::default());
        let with_node = &rows[2];
        assert!(
            with_node.dollars[0] <= 100.0,
            "the aim without checks: {with_node:?}"
        );
        assert!(
            with_node.dollars[1] <= 150.0,
            "the aim with six checks: {with_node:?}"
        );
        let [alone, serverless, node] = [&rows[0], &rows[1], &rows[2]];
        assert!(serverless.slot_share > 1.0 && node.slot_share < 0.1, "{rows:?}");
        assert!(alone.gateway_share > 1.0, "the API answers each read: {alone:?}");
        assert!(node.gateway_share < 0.5, "{node:?}");
    }
}
