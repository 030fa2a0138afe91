//! What exists in some regions only.

use serde_json::Value;

use crate::stack::{Stack, items, text_of};

/// The regions that have an Origin Shield.
///
/// Source: <https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/origin-shield.html>
const SHIELD_REGIONS: [&str; 12] = [
    "us-east-1",
    "us-east-2",
    "us-west-2",
    "ap-south-1",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "eu-central-1",
    "eu-west-1",
    "eu-west-2",
    "sa-east-1",
];
/// The regions in which the template can be deployed: the partition `aws`, with what accounts have to enable.
///
/// Source: <https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html>
const REGIONS: [&str; 34] = [
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-south-1",
    "ap-south-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
];

/// The Origin Shield of a stack in every region is in a region that has one.
pub(crate) fn shields_exist(template: &Value) -> Vec<String> {
    let mut findings = Vec::new();
    let origins = &template["Resources"]["Cdn"]["Properties"]["DistributionConfig"]["Origins"];
    for region in REGIONS {
        let stack = Stack::undecided(template, &[], region);
        for origin in items(origins) {
            let Some(shield) = stack.resolve(&origin["OriginShield"]) else {
                continue;
            };
            let at = text_of(&shield["OriginShieldRegion"]);
            if shield["Enabled"] == true && !SHIELD_REGIONS.contains(&at.as_str()) {
                findings.push(format!(
                    "a stack in {region} asks for an Origin Shield in {at}, which has none"
                ));
            }
        }
    }
    findings
}
