//! What the same crowd costs in several deployments: the rows of `docs/cost.md`.

use super::{
    aws_waiting_room::{AwsWaitingRoomCost, WaitingPage},
    cost::{Clients, CrowdCost},
    facts::GATEWAY_PER_SECOND,
    load::{CrowdLoad, held_cost},
    sizing::{Cache, CrowdDemand},
};
use crate::settings::Settings;

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
    /// How visitors learn that their turn comes.
    pub clients: &'static str,
    /// Requests for a visitor that reach an API, without checks.
    pub api_requests_per_visitor: f64,
    /// Requests of a visitor to a CDN.
    pub cdn_requests_per_visitor: f64,
    /// How much of the default quota of API Gateway the busiest time takes, without checks. `None` if it was not computed.
    pub gateway_share: Option<f64>,
    /// How much of the hash slot of one queue the busiest time takes, without checks.
    pub slot_share: Option<f64>,
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
    let mut rows = Vec::new();
    for clients in [Clients::PollEntry, Clients::FollowDocument] {
        for (deployment, cache, has_cdn) in deployments {
            let demand = CrowdDemand {
                cache,
                has_cdn,
                ..*demand
            };
            rows.push(row(&demand, pace, settings, clients, deployment));
        }
    }
    for (page, clients) in [
        (WaitingPage::Sample, "its sample page: two reads every 3 s"),
        (WaitingPage::Spaced, "a page that reads as seldom as Vestibule's"),
    ] {
        let costs = CHECKS_SHOWN.map(|checks| {
            AwsWaitingRoomCost::at_pace(&CrowdDemand { checks, ..*demand }, pace, settings, page)
        });
        rows.push(CostRow {
            deployment: "Virtual Waiting Room on AWS",
            clients,
            api_requests_per_visitor: costs[0].api_requests_per_visitor,
            cdn_requests_per_visitor: costs[0].cdn_requests_per_visitor,
            gateway_share: None,
            slot_share: None,
            dollars: costs.map(|cost| cost.dollars()),
        });
    }
    rows
}

fn row(
    demand: &CrowdDemand,
    pace: f64,
    settings: &Settings,
    clients: Clients,
    deployment: &'static str,
) -> CostRow {
    let costs = CHECKS_SHOWN
        .map(|checks| CrowdCost::at_pace(&CrowdDemand { checks, ..*demand }, pace, settings, clients));
    let load = demand.load(settings);
    let (status_per_second, reads_per_second, slot_polls) = busiest_time(&load, pace, clients);
    let reads_at_api = if demand.has_cdn { 0.0 } else { reads_per_second };
    // Entering, claims and ends come beside.
    let api_per_second = load.entering_per_second + status_per_second + 2.0 * pace + reads_at_api;
    CostRow {
        deployment,
        clients: match clients {
            Clients::PollEntry => "before: each asks about its own entry",
            Clients::FollowDocument => "now: the public document",
        },
        api_requests_per_visitor: costs[0].units("API requests") / load.visitors,
        cdn_requests_per_visitor: costs[0].units("CDN requests") / load.visitors,
        gateway_share: Some(api_per_second / GATEWAY_PER_SECOND.value),
        slot_share: Some(slot_polls / f64::from(demand.cache.slot_polls_per_second())),
        dollars: costs.map(|cost| cost.dollars()),
    }
}

/// Status requests, reads of the document, and what the slot does in entry polls, each per second in the busiest time.
fn busiest_time(load: &CrowdLoad<'_>, pace: f64, clients: Clients) -> (f64, f64, f64) {
    match clients {
        Clients::FollowDocument => (
            load.status_requests_per_second(pace),
            load.document_reads_per_second(pace),
            load.slot_polls_per_second(pace),
        ),
        Clients::PollEntry => {
            let polls = load.earlier_polls_per_second(pace);
            let slot = polls + load.entering_and_turns_cost(pace) + held_cost(pace);
            (polls, 0.0, slot)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_makes_waiting_several_times_cheaper() {
        let rows = cost_rows(&MILLION, &Settings::default());
        let (before, now) = (&rows[2], &rows[5]);
        assert!(before.dollars[0] > 2.5 * now.dollars[0], "{before:?} {now:?}");
        assert!(now.dollars[0] <= 100.0, "the aim without checks: {now:?}");
        assert!(now.dollars[1] <= 150.0, "the aim with six checks: {now:?}");
    }

    #[test]
    fn one_serverless_slot_carries_neither_and_a_node_both() {
        let rows = cost_rows(&MILLION, &Settings::default());
        let slots: Vec<_> = rows.iter().filter_map(|row| row.slot_share).collect();
        assert!(slots[1] > 4.0 * slots[4] && slots[4] > 1.0, "{slots:?}");
        assert!(slots[2] < 1.0 && slots[5] < 0.1, "{slots:?}");
        assert!(
            rows[3].gateway_share > Some(1.0),
            "the API answers each read: {:?}",
            rows[3]
        );
        assert!(rows[5].gateway_share < Some(0.5), "{:?}", rows[5]);
    }

    #[test]
    fn reading_two_numbers_every_three_seconds_is_dear() {
        let rows = cost_rows(&MILLION, &Settings::default());
        let [.., sample, spaced] = rows.as_slice() else {
            panic!("{rows:?}")
        };
        assert!(sample.cdn_requests_per_visitor > 1_200.0, "{sample:?}");
        assert!(
            sample.dollars[0] > 10.0 * spaced.dollars[0],
            "{sample:?} {spaced:?}"
        );
    }
}
