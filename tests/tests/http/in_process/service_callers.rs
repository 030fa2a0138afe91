//! Which callers the routes accept as the protected service.

use serde_json::json;
use vestibule_api::config::{ApiConfig, ServiceCallers, ServiceRoutes, VisitorRoutes};
use vestibule_tests::in_process::{InProcessApi, QUEUE, event, with_header};

use super::enter_and_expect_created;

super::cases![
    a_list_tells_the_service_from_visitors_with_credentials,
    only_the_gateway_proves_a_caller_to_be_the_service,
];

fn entry_route(route: &str) -> String {
    format!("/queues/{{queue}}/entries/{{token}}/{route}")
}

async fn a_list_tells_the_service_from_visitors_with_credentials() {
    const SHOP: &str = "arn:aws:sts::123456789012:assumed-role/shop/i-0123";
    const APP: &str = "arn:aws:sts::123456789012:assumed-role/app/visitor";
    for (listed, service_routes, visitor_routes, field, service, visitor) in [
        (
            "arn:aws:iam::123456789012:role/shop",
            ServiceRoutes::Iam,
            VisitorRoutes::Iam,
            "userArn",
            SHOP,
            APP,
        ),
        (
            "key1,key2",
            ServiceRoutes::ApiKey,
            VisitorRoutes::ApiKey,
            "apiKeyId",
            "key2",
            "key3",
        ),
        // Without a list, no caller is the service, rather than every visitor.
        ("", ServiceRoutes::Iam, VisitorRoutes::Iam, "userArn", "", SHOP),
    ] {
        let config = ApiConfig {
            service_routes,
            visitor_routes,
            service_callers: ServiceCallers::from_list(listed),
            ..ApiConfig::default()
        };
        let api = InProcessApi::start_with_config(config, json!({})).await;
        let (guest, _) = enter_and_expect_created(&api).await;
        let call = |route: &str, caller: &str| {
            let parameters = json!({ "queue": QUEUE, "token": guest.token });
            let mut event = event("POST", &entry_route(route), &parameters);
            event["body"] = json!("{}");
            event["requestContext"]["identity"][field] = json!(caller);
            with_header(event, "Content-Type", "application/json")
        };
        api.send_event(&call("extend", visitor))
            .await
            .expect_problem(403, "visitor-required");
        api.send_event(&call("complete", visitor))
            .await
            .expect_problem(403, "service-only");
        let own = with_header(call("extend", visitor), "X-Visitor-Id", &guest.id);
        assert!(api.send_event(&own).await.expect_status(200).body["pass"].is_string());
        if !listed.is_empty() {
            let extended = api.send_event(&call("extend", service)).await;
            extended.expect_problem(403, "visitor-required");
            api.send_event(&call("complete", service))
                .await
                .expect_status(204);
        }
    }
}

async fn only_the_gateway_proves_a_caller_to_be_the_service() {
    for (service_routes, field, value) in [
        (
            ServiceRoutes::Iam,
            "userArn",
            "arn:aws:iam::123456789012:role/shop",
        ),
        (ServiceRoutes::ApiKey, "apiKeyId", "key1"),
    ] {
        let config = ApiConfig {
            service_routes,
            ..ApiConfig::default()
        };
        let api = InProcessApi::start_with_config(config, json!({})).await;
        let (guest, _) = enter_and_expect_created(&api).await;
        let parameters = json!({ "queue": QUEUE, "token": guest.token });
        let call = |route: &str| {
            let (resource, body) = match route {
                "load" => ("/queues/{queue}/load".to_owned(), json!({ "tps": 5 })),
                "validate" => (entry_route(route), json!({ "visitor": guest.id })),
                _ => (entry_route(route), json!({})),
            };
            let mut event = event("POST", &resource, &parameters);
            event["body"] = json!(body.to_string());
            with_header(event, "Content-Type", "application/json")
        };
        api.send_event(&call("extend"))
            .await
            .expect_problem(403, "visitor-required");
        for route in ["validate", "complete", "load"] {
            api.send_event(&call(route))
                .await
                .expect_problem(403, "service-only");
            let forged = with_header(call(route), "X-Api-Key", "key1");
            api.send_event(&forged).await.expect_problem(403, "service-only");
        }
        for (route, status) in [("load", 200), ("validate", 200), ("complete", 204)] {
            let mut verified = call(route);
            verified["requestContext"]["identity"][field] = json!(value);
            api.send_event(&verified).await.expect_status(status);
        }
    }
}
