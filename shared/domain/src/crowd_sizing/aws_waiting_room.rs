//! What the same crowd costs in Virtual Waiting Room on AWS, the solution that AWS published, by the same formulas.
//!
//! A visitor sends `assign_queue_num`, which API Gateway writes to an SQS queue, and asks for the number by `queue_num`.
//! From then on the client reads `serving_num`, which `CloudFront` keeps for five seconds, until the number is served, and gets
//! a token by `generate_token`. The site ends the visit by `update_session`, which goes to the private API. Its authorizer
//! checks the token in a function of its own.

use super::{
    cost::{CostItem, NODES, hours_of_crowd, item, sort_by_dollars, total_dollars},
    facts::{
        API_REQUEST, CACHE_PRICES, CDN_GB, CDN_REQUEST, FUNCTION_PRICES, FUNCTION_REQUEST, Fact, LOG_GB,
        LOG_LINE_GB, REQUEST_SECONDS, TABLE_READ, TABLE_WRITE,
    },
    load::document_reads,
    sizing::CrowdDemand,
};
use crate::settings::Settings;

const TEMPLATE: &str =
    "github.com/aws-solutions/aws-virtual-waiting-room, deployment/virtual-waiting-room-on-aws.json";
const FUNCTIONS: &str = "github.com/aws-solutions/aws-virtual-waiting-room, source/core-api/lambda_functions";
const SAMPLE_PAGE: &str =
    "github.com/aws-solutions/aws-virtual-waiting-room, source/sample-waiting-room-site";
const ESTIMATE: &str = "an estimate";

/// How often the sample page asks for `serving_num` and for `waiting_num`, in seconds.
const SAMPLE_INTERVAL: Fact = Fact::new(
    "sample page, interval of each of two reads",
    3.0,
    "s",
    SAMPLE_PAGE,
);
/// Requests for the number in line: the first comes before the number is assigned.
const NUMBER_REQUESTS: Fact = Fact::new("requests for the number in line", 2.0, "requests", ESTIMATE);
const BATCH: Fact = Fact::new("messages of a batch, at most", 10.0, "messages", TEMPLATE);
const MEMORY_GB: Fact = Fact::new("memory of a function", 1.0, "GB", TEMPLATE);
/// A put of the entry, a put of the token and an update of the session, each in a table with an index.
const WRITES: Fact = Fact::new(
    "table writes of a visitor, with the indexes",
    6.0,
    "writes",
    FUNCTIONS,
);
/// Four eventually consistent reads, each half of a consistent one.
const READS: Fact = Fact::new("table reads of a visitor", 2.0, "reads", FUNCTIONS);
const EVENTS: Fact = Fact::new("events of a visitor", 2.0, "events", FUNCTIONS);
const SECRET_CALLS: Fact = Fact::new("reads of the signing key for a visitor", 1.0, "calls", FUNCTIONS);
/// Each function prints its event.
const PRINTED_GB: Fact = Fact::new("what a function prints", 3.0e-6, "GB", ESTIMATE);
const SMALL_ANSWER_GB: Fact = Fact::new("an answer with a number and its headers", 0.6e-6, "GB", ESTIMATE);
const ENDPOINTS: Fact = Fact::new("interface endpoints in two zones", 8.0, "endpoints", TEMPLATE);

/// A GB-second of a function on x86.
const X86_GB_SECOND: Fact = Fact::price(
    "a GB-second of a function on x86",
    0.000_016_666_7,
    FUNCTION_PRICES,
);
const NODE_HOUR: Fact = Fact::price(
    "an hour of a node cache.r6g.large with Redis",
    0.206,
    CACHE_PRICES,
);
const QUEUE_REQUEST: Fact = Fact::per_million("a request of SQS", 0.4, "https://aws.amazon.com/sqs/pricing");
const EVENT: Fact = Fact::per_million(
    "an event of EventBridge",
    1.0,
    "https://aws.amazon.com/eventbridge/pricing",
);
const SECRET_CALL: Fact = Fact::per_million(
    "a call of Secrets Manager",
    5.0,
    "https://aws.amazon.com/secrets-manager/pricing",
);
const NAT_HOUR: Fact = Fact::price(
    "an hour of a NAT gateway",
    0.045,
    "https://aws.amazon.com/vpc/pricing",
);
const ENDPOINT_HOUR: Fact = Fact::price(
    "an hour of an interface endpoint",
    0.01,
    "https://aws.amazon.com/privatelink/pricing",
);

/// What this page goes by, beside the facts of plans.
pub const AWS_WAITING_ROOM_FACTS: &[Fact] = &[
    SAMPLE_INTERVAL,
    NUMBER_REQUESTS,
    BATCH,
    MEMORY_GB,
    WRITES,
    READS,
    EVENTS,
    SECRET_CALLS,
    PRINTED_GB,
    SMALL_ANSWER_GB,
    ENDPOINTS,
    X86_GB_SECOND,
    NODE_HOUR,
    QUEUE_REQUEST,
    EVENT,
    SECRET_CALL,
    NAT_HOUR,
    ENDPOINT_HOUR,
];

/// The page by which visitors wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingPage {
    /// The sample page of the solution, which reads two numbers every three seconds.
    Sample,
    /// A page that reads `serving_num` as seldom as Vestibule's client reads the public document.
    Spaced,
}

/// What a crowd costs in Virtual Waiting Room on AWS.
#[derive(Debug, Clone, PartialEq)]
pub struct AwsWaitingRoomCost {
    /// What is charged, the dearest first.
    pub items: Vec<CostItem>,
    /// Requests for a visitor that reach an API.
    pub api_requests_per_visitor: f64,
    /// Requests of a visitor to the CDN.
    pub cdn_requests_per_visitor: f64,
}

impl AwsWaitingRoomCost {
    /// Computes the cost of a crowd that is let in at this pace per second. The reads that reach the API because an edge
    /// location has no fresh number are left out, as they are for the public document.
    pub fn at_pace(demand: &CrowdDemand, pace: f64, settings: &Settings, page: WaitingPage) -> Self {
        let load = demand.load(settings);
        let visitors = load.visitors;
        let hours = hours_of_crowd(demand, pace, settings);
        let reads = load.mean_over_waits(pace, |wait| match page {
            WaitingPage::Sample => 2.0 * wait / SAMPLE_INTERVAL.value,
            WaitingPage::Spaced => document_reads(wait),
        });
        // Entering, the number and the token; the end of the session goes to the private API.
        let own = 2.0 + NUMBER_REQUESTS.value;
        let (api_requests, cdn_requests) = (own + 1.0, own + reads);
        let checks = f64::from(demand.checks);
        let runs = NUMBER_REQUESTS.value + 2.0 + 1.0 / BATCH.value + checks;
        // A batch takes as long as its messages one by one.
        let run_seconds = (NUMBER_REQUESTS.value + 3.0 + checks) * REQUEST_SECONDS.value;
        let logged_gb = api_requests * LOG_LINE_GB.value + runs * PRINTED_GB.value;
        let mut items = vec![
            item("API requests", visitors * api_requests, API_REQUEST),
            item("CDN requests", visitors * cdn_requests, CDN_REQUEST),
            item(
                "CDN traffic, GB",
                visitors * cdn_requests * SMALL_ANSWER_GB.value,
                CDN_GB,
            ),
            item("function requests", visitors * runs, FUNCTION_REQUEST),
            item(
                "function time, GB-seconds",
                visitors * run_seconds * MEMORY_GB.value,
                X86_GB_SECOND,
            ),
            item("table writes", visitors * WRITES.value, TABLE_WRITE),
            item("table reads", visitors * READS.value, TABLE_READ),
            // A send and a delete for each message, and a receive for each batch.
            item(
                "queue requests",
                visitors * (2.0 + 1.0 / BATCH.value),
                QUEUE_REQUEST,
            ),
            item("events", visitors * EVENTS.value, EVENT),
            item(
                "calls of Secrets Manager",
                visitors * SECRET_CALLS.value,
                SECRET_CALL,
            ),
            item("logs, GB", visitors * logged_gb, LOG_GB),
            item("cache, node-hours", NODES * hours, NODE_HOUR),
            item("NAT gateway, hours", hours, NAT_HOUR),
            item("endpoints, hours", ENDPOINTS.value * hours, ENDPOINT_HOUR),
        ];
        sort_by_dollars(&mut items);
        Self {
            items,
            api_requests_per_visitor: api_requests,
            cdn_requests_per_visitor: cdn_requests,
        }
    }

    /// The whole cost in US dollars.
    pub fn dollars(&self) -> f64 {
        total_dollars(&self.items)
    }
}
