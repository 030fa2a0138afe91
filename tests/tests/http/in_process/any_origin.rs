//! A deployment that allows the pages of every origin.

use serde_json::json;
use vestibule_api::config::{ApiConfig, Origins};
use vestibule_tests::in_process::{ApiRequest, InProcessApi, local_config};

use super::enter_and_expect_created;

super::cases![
    pages_of_every_origin_call_without_cookies,
    no_page_of_another_site_enters_with_the_cookie,
];

async fn start() -> InProcessApi {
    let config = ApiConfig {
        origins: Origins::Any,
        ..local_config()
    };
    InProcessApi::start_with_config(config, json!({})).await
}

/// Browsers ask no permission for such a request, and send the cookie along from pages of the same site.
async fn no_page_of_another_site_enters_with_the_cookie() {
    let api = start().await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let cookie = format!("vestibule-visitor={}", guest.id);
    for (origin, is_own) in [
        (None, true),
        (Some("https://any.example"), false),
        (Some("null"), false),
    ] {
        let mut request = ApiRequest::enter().header("cookie", &cookie);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let entered = api.send(request).await;
        assert!(entered.status.is_success(), "{entered:?}");
        assert_eq!(entered.text("token") == guest.token, is_own, "{origin:?}");
    }
}

async fn pages_of_every_origin_call_without_cookies() {
    let api = start().await;
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
