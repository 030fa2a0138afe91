//! A deployment that allows the pages of every origin.

use serde_json::json;
use vestibule_api::config::{ApiConfig, Origins};
use vestibule_tests::in_process::{ApiRequest, InProcessApi, local_config};

super::cases![pages_of_every_origin_call_without_cookies];

async fn pages_of_every_origin_call_without_cookies() {
    let config = ApiConfig {
        origins: Origins::Any,
        ..local_config()
    };
    let api = InProcessApi::start_with_config(config, json!({})).await;
    let request = ApiRequest::enter().header("origin", "https://any.example");
    let entered = api.send(request).await;
    assert_eq!(
        entered.expect_status(201).header("access-control-allow-origin"),
        "*"
    );
    assert!(
        !entered.headers.contains_key("access-control-allow-credentials"),
        "{entered:?}"
    );
}
