//! Settings that an operator edits in the AWS console, past all of our code: what a promoter makes of them.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use tokio::time::sleep;
use vestibule_domain::settings::Settings;
use vestibule_engine::sync::{SettingsPolicy, SyncOutcome, sync_settings};
use vestibule_telemetry::metrics::SETTINGS_REFUSED;
use vestibule_tests::waiting::wait_until;

use crate::deployment::{BOUND, Deployment, done};

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(digits: &str) -> AttributeValue {
    AttributeValue::N(digits.to_owned())
}

fn map<const N: usize>(fields: [(&str, AttributeValue); N]) -> AttributeValue {
    AttributeValue::M(fields.map(|(name, value)| (name.to_owned(), value)).into())
}

async fn open(settings: Value) -> Deployment {
    let deployment = Deployment::new().await;
    let create = json!({ "op": "create", "queue": deployment.queue.as_str(), "settings": settings });
    done(&deployment.admin().await, create).await;
    deployment
}

#[tokio::test]
async fn an_edit_of_the_item_is_in_force_within_seconds() {
    let deployment = open(json!({ "capacity": 7, "batch": 3, "message": "soon" })).await;
    let (line, promoter) = (deployment.line().await, deployment.promoter().await);
    let mut slowest = Duration::ZERO;
    let mut edits = async |expression: &str, value, is_so: fn(&Settings) -> bool| {
        deployment.edit(expression, value).await;
        let since = Instant::now();
        wait_until(BOUND, expression, async || {
            is_so(&deployment.in_force(&line).await)
        })
        .await;
        slowest = slowest.max(since.elapsed());
    };
    let operator = async {
        let set = "SET #settings.#batch = :value";
        edits(set, Some(number("40")), |settings| settings.batch == 40).await;
        edits(set, Some(text("41")), |settings| settings.batch == 41).await;
        edits(set, Some(text(" 42 ")), |settings| settings.batch == 42).await;
        let set = "SET #settings.#paused = :value";
        edits(set, Some(text("true")), |settings| settings.paused).await;
        edits(set, Some(AttributeValue::Bool(false)), |settings| {
            !settings.paused
        })
        .await;
        edits("REMOVE #settings.#batch", None, |settings| settings.batch == 10).await;
        edits("REMOVE #settings.#message", None, |settings| {
            settings.message.is_none()
        })
        .await;
        let all = map([("capacity", text("9")), ("batch", number("5"))]);
        edits("SET #settings = :value", Some(all), |settings| {
            (settings.capacity, settings.batch) == (9, 5)
        })
        .await;
        edits("SET #settings = :value", Some(map([])), |settings| {
            *settings == Settings::default()
        })
        .await;
    };
    promoter.run(operator).await;
    println!("edit_in_force_worst_ms={}", slowest.as_millis());
}

#[tokio::test]
async fn a_wrong_edit_is_refused_by_name_and_seen_everywhere() {
    let deployment = open(json!({ "capacity": 7 })).await;
    let (line, promoter, elsewhere) = (
        deployment.line().await,
        deployment.promoter().await,
        deployment.admin().await,
    );
    let right = deployment.in_force(&line).await;
    let describe = json!({ "op": "describe", "queue": deployment.queue.as_str() });
    let refused = |value: f64| deployment.written.values(SETTINGS_REFUSED).last() == Some(&value);
    let set = "SET #settings = :value";
    let one = |name: &str, value| Some(map([(name, value)]));
    let wrong = [
        ("unknown name", set, one("batsh", number("5")), "batsh: "),
        (
            "out of range",
            set,
            one("capacity", number("0")),
            "capacity: must be a whole number of entries from 1 to 10000000",
        ),
        ("no number", set, one("capacity", text("many")), "capacity: "),
        ("a fraction", set, one("batch", number("1.5")), "batch: "),
        (
            "wrong type",
            set,
            one("batch", AttributeValue::Bool(true)),
            "batch: ",
        ),
        (
            "a number for a flag",
            set,
            one("paused", number("1")),
            "paused: must be true or false",
        ),
        (
            "a set",
            set,
            one("batch", AttributeValue::Ns(vec!["5".to_owned()])),
            "batch: ",
        ),
        (
            "DynamoDB JSON in plain JSON",
            set,
            one("batch", map([("N", text("5"))])),
            "batch: ",
        ),
        (
            "no map",
            set,
            Some(text("{\"batch\": 5}")),
            "settings: must be a map",
        ),
        ("nothing", "REMOVE #settings", None, "settings: is missing"),
    ];
    let backup = deployment.backup().await;
    for (what, expression, value, reason) in wrong {
        deployment.edit(expression, value).await;
        match sync_settings(&line, &backup, &deployment.queue, SettingsPolicy::default()).await {
            Ok(SyncOutcome::Refused { error, .. }) => {
                assert!(error.to_string().starts_with(reason), "{error}")
            }
            other => panic!("{what}: {other:?}"),
        }
        assert_eq!(deployment.in_force(&line).await, right, "{what}");
        let described = done(&elsewhere, describe.clone()).await;
        let problem = described["stored_settings_problem"].as_str().expect(what);
        assert!(problem.starts_with(reason), "{what}: {problem}");
        assert_eq!(
            described["settings"],
            json!(right),
            "{what}: the old ones are in force"
        );
        assert_ne!(described["stored_settings"], json!(right), "{what} is shown");
    }
    let operator = async {
        wait_until(BOUND, "it is seen", async || refused(1.0)).await;
        // Corrected by hand: what is in force was never touched.
        deployment.edit(set, one("capacity", number("7"))).await;
        wait_until(BOUND, "it is seen to be over", async || refused(0.0)).await;
        assert_eq!(deployment.in_force(&line).await, right);
    };
    promoter.run(operator).await;
}

#[tokio::test]
async fn the_brake_works_whatever_a_hand_left_there() {
    let deployment = open(json!({ "capacity": 7 })).await;
    let (line, admin) = (deployment.line().await, deployment.admin().await);
    let order = |op: &str| json!({ "op": op, "queue": deployment.queue.as_str() });
    let set = "SET #settings = :value";
    for (expression, left) in [
        (
            set,
            Some(map([("batch", AttributeValue::Ss(vec!["5".to_owned()]))])),
        ),
        (set, Some(map([("batch", map([("N", text("5"))]))]))),
        (
            set,
            Some(map([("batch", number("12345678901234567890123456789"))])),
        ),
        (set, Some(text("{}"))),
        ("REMOVE #settings", None),
    ] {
        deployment.edit(expression, left.clone()).await;
        done(&admin, order("pause")).await;
        let settings = deployment.in_force(&line).await;
        assert_eq!((settings.paused, settings.capacity), (true, 7), "{left:?}");
        done(&admin, order("resume")).await;
        assert!(!deployment.in_force(&line).await.paused, "{left:?}");
        deployment.edit(set, Some(map([("capacity", number("7"))]))).await;
    }
}

/// By the form, which changes one attribute, and by orders, again and again at the same time.
#[tokio::test]
async fn edits_by_hand_and_orders_at_once_lose_nothing() {
    let deployment = open(json!({ "capacity": 7 })).await;
    let (line, admin, promoter) = (
        deployment.line().await,
        deployment.admin().await,
        deployment.promoter().await,
    );
    let queue = deployment.queue.as_str();
    let operators = async {
        for round in 1..=12_u32 {
            let digits = round.to_string();
            let by_hand = async {
                // At another moment of the orders in every round.
                sleep(Duration::from_millis(u64::from(round) * 2)).await;
                let set = "SET #settings.#batch = :value";
                deployment.edit(set, Some(text(&digits))).await;
            };
            let update = json!({ "op": "update", "queue": queue, "settings": { "session_seconds": round } });
            let switch = json!({ "op": if round % 2 == 0 { "resume" } else { "pause" }, "queue": queue });
            tokio::join!(by_hand, done(&admin, update), done(&admin, switch));
            let AttributeValue::M(stored) = deployment.item().await.remove("settings").expect("there") else {
                panic!("no map")
            };
            let plain: HashMap<_, _> = stored
                .iter()
                .map(|(name, value)| match value {
                    AttributeValue::S(text) | AttributeValue::N(text) => (name.as_str(), text.clone()),
                    other => (name.as_str(), format!("{other:?}")),
                })
                .collect();
            assert_eq!(
                (&plain["batch"], &plain["session_seconds"], &plain["paused"]),
                (&digits, &digits, &format!("Bool({})", round % 2 == 1))
            );
            wait_until(BOUND, "all three are in force", async || {
                let settings = deployment.in_force(&line).await;
                (settings.batch, settings.session_seconds, settings.paused) == (round, round, round % 2 == 1)
            })
            .await;
        }
    };
    Box::pin(promoter.run(operators)).await;
}

/// By the JSON view, which saves the item as it was when it was opened: what is stored counts, and orders work on.
#[tokio::test]
async fn an_item_that_was_opened_before_an_order_is_what_is_stored() {
    let deployment = open(json!({ "capacity": 7 })).await;
    let (line, admin, promoter) = (
        deployment.line().await,
        deployment.admin().await,
        deployment.promoter().await,
    );
    let order = |op: &str| json!({ "op": op, "queue": deployment.queue.as_str() });
    let operator = async {
        let mut opened = deployment.item().await;
        done(&admin, order("pause")).await;
        opened.insert("settings".to_owned(), map([("capacity", text("8"))]));
        deployment.put(opened).await;
        wait_until(BOUND, "what was saved is in force", async || {
            let settings = deployment.in_force(&line).await;
            (settings.capacity, settings.paused) == (8, false)
        })
        .await;
        done(&admin, order("pause")).await;
        let settings = deployment.in_force(&line).await;
        assert_eq!((settings.capacity, settings.paused), (8, true));
    };
    promoter.run(operator).await;
}

/// An item that is damaged or gone: the queue goes on as it was, and the operator sees what is wrong until it is put back.
#[tokio::test]
async fn an_item_that_was_damaged_or_deleted_is_seen_and_can_be_put_back() {
    let deployment = open(json!({ "capacity": 7 })).await;
    let (line, admin, promoter) = (
        deployment.line().await,
        deployment.admin().await,
        deployment.promoter().await,
    );
    let refused = |value: f64| deployment.written.values(SETTINGS_REFUSED).last() == Some(&value);
    let seen = async |what: &str| {
        wait_until(BOUND, what, async || refused(1.0)).await;
        let describe = json!({ "op": "describe", "queue": deployment.queue.as_str() });
        let answer = admin.handle(describe).await;
        let detail = answer["problem"]["detail"].as_str().expect("a problem");
        assert!(detail.contains(what), "{detail}");
        assert_eq!(deployment.in_force(&line).await.capacity, 7);
    };
    let operator = async {
        wait_until(BOUND, "it is served", async || refused(0.0)).await;
        let item = deployment.item().await;
        let set = "SET #settings_order = :value";
        deployment.edit(set, Some(text("one"))).await;
        seen("settings_order").await;
        deployment.put(item.clone()).await;
        wait_until(BOUND, "it is put right", async || refused(0.0)).await;

        deployment.delete("settings").await;
        seen("settings").await;
        let listed = done(&admin, json!({ "op": "list" })).await;
        assert_eq!(listed["queues"][0]["queue"], deployment.queue.as_str());
        let key = ["queue", "part"].map(|name| (name.to_owned(), item[name].clone()));
        let mut new = HashMap::from(key);
        new.insert("settings".to_owned(), map([("capacity", text("9"))]));
        deployment.put(new).await;
        wait_until(BOUND, "what was put there is in force", async || {
            refused(0.0) && deployment.in_force(&line).await.capacity == 9
        })
        .await;
    };
    promoter.run(operator).await;
}
