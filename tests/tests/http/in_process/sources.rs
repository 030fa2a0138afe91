//! Sources: where visitors enter from, and which addresses count.

use std::future::ready;

use serde_json::{Value, json};
use vestibule_api::{
    config::{ApiConfig, Keys, VisitorsBy},
    origin_key::{LiveOriginKey, OriginKey},
};
use vestibule_domain::id::{EntryId, IdKey, Salt, Source};
use vestibule_telemetry::emf::Metrics;
use vestibule_tests::{
    functions::root_key,
    in_process::{InProcessApi, QUEUE, event, keys, local_config, queue_id, with_header},
};

super::cases![
    the_gateways_context_names_the_source,
    no_header_names_the_source_without_the_distributions_secret,
    the_distribution_names_the_source_with_its_secret,
    an_unreadable_secret_makes_the_source_unknown,
    visitors_who_walk_around_the_distribution_are_refused,
];

const SECRET: &str = "the-secret-of-the-distribution";
const GATEWAY: &str = "192.0.2.1";
pub(super) const ATTACKER: &str = "203.0.113.77";

pub(super) fn source_of(address: &str) -> Source {
    let ids =
        IdKey::derive_for_queue(&root_key(), &queue_id(), &Salt::new([1; 32])).expect("the key of the salt");
    ids.source(address.parse().expect("an address"))
}

/// Enters as a new anonymous visitor, by an event of a REST API from this address.
pub(super) fn enter_event(address: &str) -> Value {
    let mut event = event("POST", "/queues/{queue}/entries", &json!({ "queue": QUEUE }));
    event["requestContext"]["identity"]["sourceIp"] = json!(address);
    event["body"] = json!("{}");
    with_header(event, "Content-Type", "application/json")
}

/// The same by an event of an HTTP API.
pub(super) fn enter_event_v2(address: &str) -> Value {
    let path = format!("/queues/{QUEUE}/entries");
    json!({
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": "",
        "headers": { "host": "localhost:9000", "content-type": "application/json" },
        "requestContext": {
            "stage": "$default", "routeKey": "$default", "requestId": "2", "domainName": "localhost",
            "http": { "method": "POST", "path": path, "protocol": "http", "sourceIp": address, "userAgent": "curl" },
            "time": "21/Nov/2026:12:00:00 +0000", "timeEpoch": 1_795_262_400,
        },
        "body": "{}",
        "isBase64Encoded": false,
    })
}

fn with_distribution(event: Value, secret: &str, viewer: &str) -> Value {
    let event = with_header(event, "X-Vestibule-Origin", secret);
    with_header(event, "CloudFront-Viewer-Address", viewer)
}

/// A process that reads this from the store of its secret.
async fn behind_distribution(stored: Result<&'static str, &'static str>) -> InProcessApi {
    let key = stored.map(|secret| OriginKey::new(secret).expect("long enough"));
    behind_distribution_with(key.map_err(str::to_owned), VisitorsBy::Any).await
}

pub(super) async fn behind_distribution_with(
    key: Result<OriginKey, String>,
    visitors_by: VisitorsBy,
) -> InProcessApi {
    let read = move || Box::pin(ready(key.clone()));
    let origin = LiveOriginKey::load(Box::new(move || read()), Metrics::none()).await;
    let mut api = InProcessApi::start(json!({})).await;
    let config = ApiConfig {
        visitors_by,
        ..local_config()
    };
    api.router = api.start_process_with(Keys { origin, ..keys() }, config);
    api
}

pub(super) async fn entered_source(api: &InProcessApi, event: &Value) -> Option<Source> {
    let entered = api.send_event(event).await;
    let token = entered.expect_status(201).text("token");
    stored_source(api, token.parse().expect("a token")).await
}

async fn stored_source(api: &InProcessApi, id: EntryId) -> Option<Source> {
    use vestibule_backup::Backup;
    let record = api.backup.read_entry(&api.partition(), id).await;
    record.expect("an answer").expect("a record").source
}

async fn the_gateways_context_names_the_source() {
    let api = InProcessApi::start(json!({})).await;
    let same_network = [
        enter_event("203.0.113.7"),
        enter_event_v2("203.0.113.7"),
        enter_event("::ffff:203.0.113.7"),
    ];
    for event in same_network {
        assert_eq!(
            entered_source(&api, &event).await,
            Some(source_of("203.0.113.7")),
            "{event}"
        );
    }
    let first = entered_source(&api, &enter_event("2001:db8:1:2::3")).await;
    let other_host = entered_source(&api, &enter_event_v2("2001:db8:1:2:ffff::4")).await;
    assert_eq!((first, other_host), (Some(source_of("2001:db8:1:2::")), first));
    assert_ne!(first, entered_source(&api, &enter_event("2001:db8:1:3::3")).await);
    assert_eq!(entered_source(&api, &enter_event("unknown")).await, None);
}

async fn no_header_names_the_source_without_the_distributions_secret() {
    for api in [
        InProcessApi::start(json!({})).await,
        behind_distribution(Ok(SECRET)).await,
    ] {
        let enter = || enter_event(GATEWAY);
        for spoofed in [
            with_header(enter(), "X-Forwarded-For", ATTACKER),
            with_header(enter(), "Forwarded", "for=203.0.113.77"),
            with_header(enter(), "CloudFront-Viewer-Address", "203.0.113.77:443"),
            with_distribution(enter(), "", "203.0.113.77:443"),
            with_distribution(enter(), "a-guess-of-the-same-length-.", "203.0.113.77:443"),
            with_header(
                enter_event_v2(GATEWAY),
                "CloudFront-Viewer-Address",
                "203.0.113.77:443",
            ),
        ] {
            let source = entered_source(&api, &spoofed).await;
            assert_eq!(source, Some(source_of(GATEWAY)), "{spoofed}");
        }
        // An HTTP API joins repeated headers. The distribution sends one.
        let repeated = with_distribution(enter_event_v2(GATEWAY), SECRET, "198.51.100.1:1,203.0.113.77:443");
        assert_eq!(entered_source(&api, &repeated).await, Some(source_of(GATEWAY)));
    }
    // Without a configured secret, nobody can present it.
    let api = InProcessApi::start(json!({})).await;
    let event = with_distribution(enter_event(GATEWAY), SECRET, "203.0.113.77:443");
    assert_eq!(entered_source(&api, &event).await, Some(source_of(GATEWAY)));
}

async fn the_distribution_names_the_source_with_its_secret() {
    let api = behind_distribution(Ok(SECRET)).await;
    for (viewer, address) in [
        ("203.0.113.77:46532", ATTACKER),
        ("2001:db8:1:2::3:443", "2001:db8:1:2::"),
        // A header that no distribution writes.
        ("203.0.113.77", GATEWAY),
        ("", GATEWAY),
    ] {
        for event in [enter_event(GATEWAY), enter_event_v2(GATEWAY)] {
            let event = with_distribution(event, SECRET, viewer);
            assert_eq!(
                entered_source(&api, &event).await,
                Some(source_of(address)),
                "{event}"
            );
        }
    }
}

/// The gateway's address of a request through the distribution is that of the distribution, which would stand for all
/// its visitors.
async fn an_unreadable_secret_makes_the_source_unknown() {
    let api = behind_distribution(Err("AccessDeniedException")).await;
    for event in [enter_event(GATEWAY), enter_event_v2(GATEWAY)] {
        let through_distribution = with_distribution(event.clone(), SECRET, "203.0.113.77:443");
        assert_eq!(entered_source(&api, &through_distribution).await, None);
        assert_eq!(entered_source(&api, &event).await, Some(source_of(GATEWAY)));
    }
}

/// Nothing but entering needs the way through the distribution, and a process that cannot read the key refuses nobody.
async fn visitors_who_walk_around_the_distribution_are_refused() {
    let key = OriginKey::new(SECRET).expect("long enough");
    let key = key.with_former("the-secret-before-the-last-change");
    let api = behind_distribution_with(Ok(key), VisitorsBy::Distribution).await;
    for guess in [None, Some(""), Some("a-guess-of-the-same-length-.")] {
        for event in [enter_event(GATEWAY), enter_event_v2(GATEWAY)] {
            let event = match guess {
                Some(guess) => with_header(event, "X-Vestibule-Origin", guess),
                None => event,
            };
            let refused = api.send_event(&event).await;
            refused.expect_problem(403, "not-through-distribution");
        }
    }
    let mut entered = None;
    for secret in [SECRET, "the-secret-before-the-last-change"] {
        let answer = api
            .send_event(&with_header(enter_event(GATEWAY), "X-Vestibule-Origin", secret))
            .await;
        entered = Some(answer.expect_status(201).text("token").to_owned());
    }
    let token = entered.expect("a visitor entered");
    for path in ["", "/claim"] {
        let template = format!("/queues/{{queue}}/entries/{{token}}{path}");
        let method = if path.is_empty() { "GET" } else { "POST" };
        let parameters = json!({ "queue": QUEUE, "token": token });
        let answer = api.send_event(&event(method, &template, &parameters)).await;
        assert_ne!(answer.body["code"], "not-through-distribution", "{answer:?}");
    }

    let unread =
        behind_distribution_with(Err("AccessDeniedException".to_owned()), VisitorsBy::Distribution).await;
    unread.send_event(&enter_event(GATEWAY)).await.expect_status(201);
}
