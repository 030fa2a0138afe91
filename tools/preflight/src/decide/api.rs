//! The quota of API Gateway, and the routes of the deployed API.

use std::collections::BTreeSet;

use vestibule_domain::preflight::Finding;

use super::{openapi_routes::declared_routes, unanswered::unanswered};
use crate::account_answers::{Answer, ApiRoute, RequestQuota, StackAnswer};

/// The most routes that a finding names.
const NAMED_MAX: usize = 5;
/// The parameters that limit routes, in requests per second.
const RATES: [&str; 5] = [
    "ThrottleRate",
    "DocumentThrottleRate",
    "EnterThrottleRate",
    "ClaimThrottleRate",
    "ValidateThrottleRate",
];

/// Whether the account gets the requests that the stack lets through.
pub(super) fn requests_finding(stack: &StackAnswer, requests: &Answer<RequestQuota>) -> Finding {
    const CHECK: &str = "api-requests";
    let quota = match requests {
        Ok(quota) => quota,
        Err(reason) => {
            return unanswered(
                CHECK,
                reason,
                "give yourself the right apigateway:GET on /account, or look the quotas up in Service Quotas",
            );
        }
    };
    let rate = RATES.iter().map(|name| stack.number(name)).max().unwrap_or(0);
    let burst = stack.number("ThrottleBurst");
    let found = format!(
        "all APIs of the account get {} requests per second and {} at once; a route of the stack lets {rate} and {burst} through",
        quota.rate, quota.burst
    );
    if quota.rate < f64::from(rate) || quota.burst < burst {
        Finding::fault(
            CHECK,
            found,
            "raise the quota of requests per second of API Gateway, or lower ThrottleRate and ThrottleBurst below it: the gateway \
             turns the rest away for every API of the account",
        )
    } else {
        Finding::ok(CHECK, found)
    }
}

/// Whether the deployed API has every route of `infra/openapi.yaml`.
pub(super) fn import_finding(routes: &Answer<BTreeSet<ApiRoute>>) -> Finding {
    const CHECK: &str = "api-import";
    let routes = match routes {
        Ok(routes) => routes,
        Err(reason) => {
            return unanswered(
                CHECK,
                reason,
                "give yourself the right apigateway:GET on the API of the stack",
            );
        }
    };
    let declared = declared_routes();
    let missing: Vec<_> = declared
        .difference(routes)
        .map(|route| format!("{} {}", route.method, route.path))
        .collect();
    if missing.is_empty() {
        return Finding::ok(CHECK, format!("the API has all {} routes", declared.len()));
    }
    let named = missing[..missing.len().min(NAMED_MAX)].join(", ");
    Finding::fault(
        CHECK,
        format!(
            "{} of {} routes are missing: {named}",
            missing.len(),
            declared.len()
        ),
        "deploy this version of the stack, and change no route by hand",
    )
}
