//! What the guide says of the stack: the rights of the identity that deploys it, and its price while it is idle.

use std::collections::BTreeSet;

use serde_json::Value;
use vestibule_telemetry::metrics;
use vestibule_tests::{
    markdown::{code_spans, tables},
    template::read_text,
};

use crate::stack::{Stack, items, object, text_of};

/// Services that a deployment needs besides those of its resources.
const FURTHER_SERVICES: [&str; 2] = ["cloudformation", "acm"];

/// The prefix of a service in IAM, for the middle part of a type such as `AWS::DynamoDB::Table`.
fn iam_prefix(namespace: &str) -> String {
    match namespace {
        "CertificateManager" => "acm".to_owned(),
        other => other.to_lowercase(),
    }
}

/// The services whose resources the processed template has are those of the guide's table.
pub(crate) fn rights_of_the_deployer(template: &Value) -> Vec<String> {
    let kinds = object(&template["Resources"])
        .values()
        .map(|resource| text_of(&resource["Type"]));
    let mut needed: BTreeSet<String> = kinds
        .map(|kind| iam_prefix(kind.split("::").nth(1).expect("a namespace")))
        .collect();
    needed.extend(FURTHER_SERVICES.map(str::to_owned));
    let guide = read_text("docs/deploying.md");
    let all = tables(&guide);
    let table = all
        .iter()
        .find(|table| table.header.get(1).is_some_and(|name| name == "rights"));
    let rows = &table.expect("the table of rights").rows;
    let listed: BTreeSet<String> = rows
        .iter()
        .flat_map(|row| code_spans(&row[1]))
        .filter_map(|right| Some(right.split_once(':')?.0.to_owned()))
        .collect();
    let missing = needed
        .difference(&listed)
        .map(|service| format!("the guide gives no right on {service}"));
    let unneeded = listed
        .difference(&needed)
        .map(|service| format!("the guide gives rights on {service}, which nothing needs"));
    missing.chain(unneeded).collect()
}

const HOURS: f64 = 730.0;
/// Dollars of us-east-1. The guide names AWS's page for each.
const GB_SECOND: f64 = 0.000_013_333_4;
const CACHE_GB_HOUR: f64 = 0.084;
const CACHE_GB_MIN: f64 = 0.1;
const NODE_HOUR: f64 = 0.1752;
const ENDPOINT_HOUR: f64 = 0.01;
const SECRET: f64 = 0.40;
const METRIC: f64 = 0.30;
const ALARM_METRIC: f64 = 0.10;
const DASHBOARD: f64 = 3.00;
/// The share of a minute in which an idle promoter runs.
const PROMOTER_SHARE: f64 = 12.0 / 60.0;

/// The rows of the guide's table of the idle price, and its sum, for a stack with one queue.
pub(crate) fn idle_price(stack: &Stack<'_>) -> Vec<String> {
    let memory_gb = stack.resources["PromoterFunction"].properties["MemorySize"]
        .as_f64()
        .expect("megabytes")
        / 1_024.0;
    let endpoints: usize = stack
        .of_kind("AWS::EC2::VPCEndpoint")
        .filter(|(_, endpoint)| endpoint["VpcEndpointType"] == "Interface")
        .map(|(_, endpoint)| items(&endpoint["SubnetIds"]).len())
        .sum();
    let nodes: u64 = stack
        .of_kind("AWS::ElastiCache::ReplicationGroup")
        .map(|(_, cache)| cache["NumCacheClusters"].as_u64().expect("a number"))
        .sum();
    let secrets = stack.of_kind("AWS::SecretsManager::Secret").count();
    // An alarm on an expression costs its metrics.
    let alarms: usize = stack
        .of_kind("AWS::CloudWatch::Alarm")
        .map(|(_, alarm)| {
            let of_expression = items(&alarm["Metrics"]);
            of_expression
                .iter()
                .filter(|metric| !metric["MetricStat"].is_null())
                .count()
                + usize::from(!alarm["MetricName"].is_null())
        })
        .sum();
    let written = metrics::ALL.len();
    let count = |number: usize| f64::from(u32::try_from(number).expect("small"));
    let rows = [
        (
            "promoter",
            format!("{memory_gb} GB"),
            HOURS * 3_600.0 * PROMOTER_SHARE * memory_gb * GB_SECOND,
        ),
        if nodes == 0 {
            ("cache", String::new(), HOURS * CACHE_GB_MIN * CACHE_GB_HOUR)
        } else {
            (
                "nodes",
                nodes.to_string(),
                HOURS * count(usize::try_from(nodes).expect("small")) * NODE_HOUR,
            )
        },
        (
            "endpoint",
            String::new(),
            HOURS * count(endpoints) * ENDPOINT_HOUR,
        ),
        ("secrets", format!("{secrets} × 0.40"), count(secrets) * SECRET),
        (
            "custom metrics",
            format!("{written} names"),
            count(written) * 2.0 * METRIC,
        ),
        (
            "alarms",
            format!("on {alarms} metrics"),
            DASHBOARD + count(alarms) * ALARM_METRIC,
        ),
    ];
    let sum: f64 = rows.iter().map(|(_, _, price)| price).sum();
    let guide = read_text("docs/deploying.md");
    let mut findings = Vec::new();
    if nodes == 0 {
        for (what, words, price) in rows {
            let is_there = |line: &str| {
                line.starts_with('|')
                    && line.contains(what)
                    && line.contains(&words)
                    && line.contains(&format!("| {price:.2} |"))
            };
            if !guide.lines().any(is_there) {
                findings.push(format!(
                    "the guide's idle price has no row '{what}' with '{words}' and {price:.2}"
                ));
            }
        }
    }
    if !guide.contains(&format!("**about {sum:.0}**")) {
        findings.push(format!(
            "the guide does not say that an idle stack costs about {sum:.0} a month"
        ));
    }
    findings
}
