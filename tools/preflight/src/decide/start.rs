//! Whether the functions that serve visitors start, how fast, and whether the keys of passes are served.

use serde_json::Value;
use vestibule_domain::preflight::Finding;

use super::unanswered::unanswered;
use crate::account_answers::{FunctionCall, FunctionReply, StartAnswer};

/// The longest start of a function that a visitor may wait for, in milliseconds.
const START_MS_MAX: f64 = 1_000.0;
/// The function that serves the keys.
const DOCUMENT: &str = "Document";

/// One finding for each function, and those of the keys and of the time to start.
pub(super) fn start_findings(starts: &[StartAnswer]) -> Vec<Finding> {
    let mut findings: Vec<_> = starts.iter().map(start_finding).collect();
    findings.extend([keys_finding(starts), cold_start_finding(starts)]);
    findings
}

/// Whether a function starts and answers.
fn start_finding(start: &StartAnswer) -> Finding {
    let function = format!("{}Function", start.name);
    let check = &format!("start-{}", start.name.to_lowercase());
    match &start.call {
        Err(reason) => unanswered(
            check,
            reason,
            &format!("give yourself the right lambda:InvokeFunction on {function}"),
        ),
        Ok(FunctionCall::Failed(error)) => Finding::fault(
            check,
            format!("{function} does not start: {error}"),
            format!(
                "read the log group of {function}: it starts only if its role, and the policy of the VPC endpoint, let it read \
                 the secrets of the root key and the signing key"
            ),
        ),
        Ok(FunctionCall::Answered(reply)) => reply_finding(check, &function, reply),
    }
}

fn reply_finding(check: &str, function: &str, reply: &FunctionReply) -> Finding {
    if !(200..500).contains(&reply.status) {
        let (code, detail) = (text(&reply.body, "code"), text(&reply.body, "detail"));
        return Finding::fault(
            check,
            format!(
                "{function} started, and answered {} {code}: {detail}",
                reply.status
            ),
            format!("read the log group of {function}, and let it reach Redis and the tables"),
        );
    }
    if !reply.troubles.is_empty() {
        return Finding::fault(
            check,
            format!(
                "{function} serves visitors, but not in full: {}",
                reply.troubles.join("; ")
            ),
            format!(
                "let {function} reach Redis, and read its secrets by its role and by the policy of the VPC endpoint"
            ),
        );
    }
    Finding::ok(check, format!("{function} answers"))
}

/// A member of a problem.
fn text<'a>(body: &'a Value, member: &str) -> &'a str {
    body[member].as_str().unwrap_or_default()
}

/// Whether the keys that verify passes are served.
fn keys_finding(starts: &[StartAnswer]) -> Finding {
    const CHECK: &str = "public-keys";
    let Some(reply) = replies(starts).find_map(|(name, reply)| (name == DOCUMENT).then_some(reply)) else {
        return Finding::unknown(
            CHECK,
            "DocumentFunction did not answer",
            "do what start-document says, and run the preflight again",
        );
    };
    let keys = reply.body["keys"].as_array().into_iter().flatten();
    let keys = keys
        .filter(|key| key["kty"] == "EC" && key["crv"] == "P-256")
        .count();
    if reply.status == 200 && keys > 0 {
        return Finding::ok(CHECK, format!("{} served, for ES256", count_of_keys(keys)));
    }
    Finding::fault(
        CHECK,
        format!(
            "/.well-known/jwks.json answered {} with {}",
            reply.status,
            count_of_keys(keys)
        ),
        "put a signing key into the secret (SigningKeySecretArn): services cannot check passes without it",
    )
}

fn count_of_keys(keys: usize) -> String {
    match keys {
        0 => "no key".to_owned(),
        1 => "one key".to_owned(),
        keys => format!("{keys} keys"),
    }
}

/// Whether the function that starts slowest starts soon enough.
fn cold_start_finding(starts: &[StartAnswer]) -> Finding {
    const CHECK: &str = "cold-start";
    let times = replies(starts).filter_map(|(name, reply)| Some((name, reply.init_ms?)));
    let Some((name, init_ms)) = times.max_by(|one, other| one.1.total_cmp(&other.1)) else {
        return Finding::unknown(
            CHECK,
            "no function was started for its call, so Lambda tells no time of a start",
            "wait a quarter of an hour without requests, or deploy, and run the preflight again",
        );
    };
    let found = format!("{name}Function started in {init_ms:.0} ms, the longest of those that were started");
    if init_ms > START_MS_MAX {
        let remedy = "provision executions before the sale (…Provisioned), and see whether Redis and Secrets Manager answer slowly";
        Finding::fault(CHECK, found, remedy)
    } else {
        Finding::ok(CHECK, found)
    }
}

/// The functions that answered.
fn replies(starts: &[StartAnswer]) -> impl Iterator<Item = (&'static str, &FunctionReply)> {
    starts.iter().filter_map(|start| match &start.call {
        Ok(FunctionCall::Answered(reply)) => Some((start.name, reply)),
        _ => None,
    })
}
