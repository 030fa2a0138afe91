//! Asks API Gateway for the quota of the account, and for the routes of the deployed API.

use std::collections::BTreeSet;

use serde_json::Value;

use super::aws_call::{AwsCaller, Call, Service};
use crate::account_answers::{Answer, ApiRoute, RequestQuota};

/// API Gateway.
pub(super) const API_GATEWAY: Service = Service { name: "apigateway" };

/// The most resources that an API may have in one answer.
const RESOURCES_MAX: u32 = 500;

/// Asks how many requests all APIs of the account get.
pub(super) async fn ask_quota(caller: &AwsCaller) -> Answer<RequestQuota> {
    let account = caller.send_for_json(API_GATEWAY, &Call::Get("/account")).await?;
    let throttle = &account["throttleSettings"];
    let burst = throttle["burstLimit"]
        .as_u64()
        .and_then(|burst| u32::try_from(burst).ok());
    match (throttle["rateLimit"].as_f64(), burst) {
        (Some(rate), Some(burst)) => Ok(RequestQuota { rate, burst }),
        _ => Err("API Gateway tells no limits of the account".to_owned()),
    }
}

/// Asks for the routes of an API.
pub(super) async fn ask_routes(caller: &AwsCaller, api: &Answer<String>) -> Answer<BTreeSet<ApiRoute>> {
    let api = api.as_ref().map_err(Clone::clone)?;
    let path = format!("/restapis/{api}/resources?embed=methods&limit={RESOURCES_MAX}");
    let resources = caller.send_for_json(API_GATEWAY, &Call::Get(&path)).await?;
    Ok(read_routes(&resources))
}

/// Reads the routes of an answer. The links of HAL (`_embedded`) are left out by the header `Accept`; an older form has them.
fn read_routes(resources: &Value) -> BTreeSet<ApiRoute> {
    let items = [
        &resources["item"],
        &resources["items"],
        &resources["_embedded"]["item"],
    ];
    let items = items.into_iter().filter_map(Value::as_array).flatten();
    items
        .flat_map(|resource| {
            let path = resource["path"].as_str().unwrap_or_default();
            let methods = resource["resourceMethods"].as_object().into_iter().flatten();
            methods.map(move |(method, _)| ApiRoute {
                path: path.to_owned(),
                method: method.clone(),
            })
        })
        .collect()
}
