//! Quotas and limits of AWS that a stack must keep. Each has the page of AWS that states it.

use serde_json::Value;

use crate::{
    sets::ParameterSet,
    stack::{Stack, items, object, text_of},
};

/// What a quantity of a stack is, what it may be at most, and where AWS says so.
struct Limit {
    what: String,
    is: usize,
    at_most: usize,
    source: &'static str,
}

const CLOUDFORMATION: &str =
    "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html";
const CLOUDFRONT: &str =
    "https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html";
const IAM: &str = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html";
const LAMBDA: &str = "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html";

/// Requests per second that Lambda serves with one execution.
const SERVED_PER_EXECUTION: u64 = 10;
/// Lambda requires this many executions that no function reserves, where the quota is 1,000.
const UNRESERVED_MIN: u64 = 100;

/// The sizes of what `CloudFormation`, `CloudFront`, IAM and Lambda take.
pub(crate) fn sizes_fit(stack: &Stack<'_>) -> Vec<String> {
    let mut limits = vec![
        limit(
            "parameters",
            object(&stack.template["Parameters"]).len(),
            200,
            CLOUDFORMATION,
        ),
        limit(
            "outputs",
            object(&stack.template["Outputs"]).len(),
            200,
            CLOUDFORMATION,
        ),
        limit(
            "resources",
            object(&stack.template["Resources"]).len(),
            500,
            CLOUDFORMATION,
        ),
        limit(
            "bytes of the processed template",
            stack.template.to_string().len(),
            1_000_000,
            CLOUDFORMATION,
        ),
    ];
    for (id, policy) in stack.of_kind("AWS::CloudFront::OriginRequestPolicy") {
        let headers = items(&policy["OriginRequestPolicyConfig"]["HeadersConfig"]["Headers"]).len();
        limits.push(limit(&format!("headers of {id}"), headers, 10, CLOUDFRONT));
    }
    for (id, distribution) in stack.of_kind("AWS::CloudFront::Distribution") {
        let behaviors = items(&distribution["DistributionConfig"]["CacheBehaviors"]).len();
        limits.push(limit(&format!("behaviors of {id}"), behaviors, 25, CLOUDFRONT));
    }
    for (id, role) in stack.of_kind("AWS::IAM::Role") {
        let documents = items(&role["Policies"])
            .iter()
            .map(|policy| characters(&policy["PolicyDocument"]))
            .sum();
        limits.push(limit(
            &format!("characters of the policies in {id}"),
            documents,
            10_240,
            IAM,
        ));
    }
    for (id, policy) in stack.of_kind("AWS::IAM::ManagedPolicy") {
        limits.push(limit(
            &format!("characters of {id}"),
            characters(&policy["PolicyDocument"]),
            6_144,
            IAM,
        ));
    }
    for (id, function) in stack.of_kind("AWS::Lambda::Function") {
        let variables = object(&function["Environment"]["Variables"]);
        let bytes = variables
            .iter()
            .map(|(name, value)| name.len() + text_of(value).len())
            .sum();
        limits.push(limit(
            &format!("bytes in the environment of {id}"),
            bytes,
            4_096,
            LAMBDA,
        ));
    }
    limits
        .into_iter()
        .filter(|limit| limit.is > limit.at_most)
        .map(
            |Limit {
                 what,
                 is,
                 at_most,
                 source,
             }| format!("{is} {what}, and AWS takes {at_most}: {source}"),
        )
        .collect()
}

/// The length of a document without the white space that IAM does not count.
fn characters(document: &Value) -> usize {
    document
        .to_string()
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .count()
}

fn limit(what: &str, is: usize, at_most: usize, source: &'static str) -> Limit {
    Limit {
        what: what.to_owned(),
        is,
        at_most,
        source,
    }
}

/// The names that AWS bounds: the type, the property, and the most characters. `CloudFormation` cuts the names that it makes
/// itself.
const NAMES: [(&str, &str, usize); 9] = [
    ("AWS::CloudFront::Function", "/Name", 64),
    (
        "AWS::CloudFront::OriginAccessControl",
        "/OriginAccessControlConfig/Name",
        64,
    ),
    ("AWS::CloudFront::CachePolicy", "/CachePolicyConfig/Name", 128),
    (
        "AWS::CloudFront::OriginRequestPolicy",
        "/OriginRequestPolicyConfig/Name",
        128,
    ),
    (
        "AWS::CloudFront::ResponseHeadersPolicy",
        "/ResponseHeadersPolicyConfig/Name",
        128,
    ),
    ("AWS::ElastiCache::ServerlessCache", "/ServerlessCacheName", 40),
    ("AWS::ElastiCache::User", "/UserId", 40),
    ("AWS::ElastiCache::UserGroup", "/UserGroupId", 40),
    ("AWS::Budgets::Budget", "/Budget/BudgetName", 100),
];

/// The names of a stack that has the longest name of its own.
pub(crate) fn names_fit(stack: &Stack<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    for (kind, property, at_most) in NAMES {
        for (id, properties) in stack.of_kind(kind) {
            let name = text_of(properties.pointer(property).expect("a name"));
            if name.len() > at_most {
                findings.push(format!(
                    "{id} has {} characters, and AWS takes {at_most}: {name}",
                    name.len()
                ));
            }
        }
    }
    findings
}

/// The executions of a stack fit the account that the guide names for its size, and the routes fit their functions.
pub(crate) fn executions_fit(stack: &Stack<'_>, set: &ParameterSet) -> Vec<String> {
    let mut findings = Vec::new();
    let reserved: u64 = stack
        .of_kind("AWS::Lambda::Function")
        .filter_map(|(_, function)| number(&function["ReservedConcurrentExecutions"]))
        .sum();
    if reserved > 0 && reserved + UNRESERVED_MIN > set.account_executions {
        findings.push(format!(
            "{reserved} executions are reserved and {UNRESERVED_MIN} must be free, and the account has {}",
            set.account_executions
        ));
    }
    let held = stack.resources.get("StatusFunction").and_then(|function| {
        number(&function.properties["Environment"]["Variables"]["VESTIBULE_HELD_BUDGET"])
    });
    let held = held.expect("a budget of held polls");
    // Each function needs one execution besides: a visitor must be able to enter while all others wait. The promoter's runs
    // overlap, so it needs two.
    let mut needed = held + 2 + 5;
    if !stack.parameter("VisitorAuthorizerArn").is_empty() {
        needed += 1;
    }
    if !stack.parameter("AuthorizerQueues").is_empty() {
        needed += 1;
    }
    if needed > set.account_executions {
        findings.push(format!(
            "{held} held polls and one execution of each function are {needed}, and the account has {}",
            set.account_executions
        ));
    }
    for (id, function) in stack.of_kind("AWS::Lambda::Function") {
        let own = number(&function["ReservedConcurrentExecutions"]);
        if id == "StatusFunction" && own.is_some_and(|own| held >= own) {
            findings.push(format!("{held} held polls leave StatusFunction no execution"));
        }
        // The brake must work while a crowd uses the pool up.
        if stack.parameter("Size") == "sale" && own.is_none() && id != "AuthorizerFunction" {
            findings.push(format!("{id}: a sale reserves no execution for it"));
        }
    }
    findings.extend(throttle_findings(stack, set));
    findings
}

/// A route takes no more requests than its function can serve, and none more than the stage.
fn throttle_findings(stack: &Stack<'_>, set: &ParameterSet) -> Vec<String> {
    let mut findings = Vec::new();
    for (_, stage) in stack.of_kind("AWS::ApiGateway::Stage") {
        let settings = items(&stage["MethodSettings"]);
        let of_stage = settings
            .iter()
            .find(|setting| setting["ResourcePath"] == "/*")
            .expect("a setting of the stage");
        for setting in &settings {
            for limit in ["ThrottlingRateLimit", "ThrottlingBurstLimit"] {
                let (own, most) = (number(&setting[limit]), number(&of_stage[limit]));
                if own > most {
                    findings.push(format!(
                        "{}: {limit} is {own:?}, and that of the stage {most:?}",
                        setting["ResourcePath"]
                    ));
                }
            }
        }
    }
    let mut shared_rate = 0;
    for (parameter, function) in [
        ("DocumentThrottleRate", "DocumentFunction"),
        ("EnterThrottleRate", "EnterFunction"),
        ("ClaimThrottleRate", "ClaimFunction"),
        ("ValidateThrottleRate", "ValidateFunction"),
    ] {
        let rate = route_rate(stack, parameter);
        let Some(executions) = number(&stack.resources[function].properties["ReservedConcurrentExecutions"])
        else {
            shared_rate += rate;
            continue;
        };
        if rate > executions * SERVED_PER_EXECUTION {
            findings.push(format!("{parameter} is {rate}, and {executions} executions serve {SERVED_PER_EXECUTION} requests each"));
        }
    }
    if shared_rate > set.account_executions * SERVED_PER_EXECUTION {
        findings.push(format!(
            "routes without executions of their own take {shared_rate} requests, and an account with {} serves {SERVED_PER_EXECUTION} each",
            set.account_executions
        ));
    }
    findings
}

/// The rate of the routes that a parameter limits.
fn route_rate(stack: &Stack<'_>, parameter: &str) -> u64 {
    let path = match parameter {
        "EnterThrottleRate" => ("POST", "/~1queues~1{queue}~1entries"),
        "ClaimThrottleRate" => ("POST", "/~1queues~1{queue}~1entries~1{token}~1claim"),
        "ValidateThrottleRate" => ("POST", "/~1queues~1{queue}~1entries~1{token}~1validate"),
        _ => ("GET", "/~1queues~1{queue}"),
    };
    let (_, stage) = stack.of_kind("AWS::ApiGateway::Stage").next().expect("a stage");
    let settings = items(&stage["MethodSettings"]);
    let setting = settings
        .iter()
        .find(|setting| setting["HttpMethod"] == path.0 && setting["ResourcePath"] == path.1);
    number(&setting.expect("a setting of the route")["ThrottlingRateLimit"]).expect("a rate")
}

fn number(value: &Value) -> Option<u64> {
    text_of(value).parse().ok()
}
