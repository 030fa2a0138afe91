//! Whether the loss of one zone leaves functions that run.

use std::collections::BTreeSet;

use vestibule_domain::preflight::Finding;

use super::unanswered::unanswered;
use crate::account_answers::Answer;

/// Whether the functions run in two zones or more.
pub(super) fn zones_finding(zones: &Answer<Vec<String>>) -> Finding {
    const CHECK: &str = "zones";
    let zones: BTreeSet<_> = match zones {
        Ok(zones) => zones.iter().map(String::as_str).collect(),
        Err(reason) => return unanswered(CHECK, reason, "give yourself the right ec2:DescribeSubnets"),
    };
    let listed = zones.iter().copied().collect::<Vec<_>>().join(", ");
    match zones.len() {
        0 => Finding::ok(
            CHECK,
            "the functions run in no VPC, so Lambda spreads them over the zones of the region",
        ),
        1 => Finding::fault(
            CHECK,
            format!("the functions run in one zone: {listed}"),
            "give SubnetIds of two or three zones that ElastiCache serves: the loss of one zone must not end the sale",
        ),
        _ => Finding::ok(CHECK, format!("the functions run in the zones {listed}")),
    }
}
