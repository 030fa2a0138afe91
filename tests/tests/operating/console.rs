//! Settings that an operator edits in the AWS console, without our code, and what the promoter does with them.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use vestibule_domain::settings::Settings;
use vestibule_engine::sync::{SettingsPolicy, SyncOutcome, sync_settings};
use vestibule_telemetry::metrics::SETTINGS_REFUSED;
use vestibule_tests::waiting::wait_until;

use crate::deployment::{BOUND, Deployment, run_command};

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(digits: &str) -> AttributeValue {
    AttributeValue::N(digits.to_owned())
}

pub(crate) fn map<const N: usize>(fields: [(&str, AttributeValue); N]) -> AttributeValue {
    AttributeValue::M(fields.map(|(name, value)| (name.to_owned(), value)).into())
}

pub(crate) async fn create_queue(settings: Value) -> Deployment {
    let deployment = Deployment::new().await;
    let create = json!({ "op": "create", "queue": deployment.queue.as_str(), "settings": settings });
    run_command(&deployment.admin().await, create).await;
    deployment
}

#[tokio::test]
async fn edit_of_the_item_is_in_force_within_seconds() {
    let deployment = create_queue(json!({ "capacity": 7, "batch": 3, "message": "soon" })).await;
    let (line, promoter) = (deployment.line().await, deployment.promoter().await);
    let mut slowest = Duration::ZERO;
    let mut edit_and_wait = async |expression: &str, value, is_so: fn(&Settings) -> bool| {
        deployment.edit(expression, value).await;
        let since = Instant::now();
        wait_until(BOUND, expression, async || {
            is_so(&deployment.settings_in_force(&line).await)
        })
        .await;
        slowest = slowest.max(since.elapsed());
    };
    let operator = async {
        let set = "SET #settings.#batch = :value";
        edit_and_wait(set, Some(number("40")), |settings| settings.batch == 40).await;
        edit_and_wait(set, Some(text("41")), |settings| settings.batch == 41).await;
        edit_and_wait(set, Some(text(" 42 ")), |settings| settings.batch == 42).await;
        let set = "SET #settings.#paused = :value";
        edit_and_wait(set, Some(text("true")), |settings| settings.paused).await;
        edit_and_wait(set, Some(AttributeValue::Bool(false)), |settings| {
            !settings.paused
        })
        .await;
        edit_and_wait("REMOVE #settings.#batch", None, |settings| settings.batch == 10).await;
        edit_and_wait("REMOVE #settings.#message", None, |settings| {
            settings.message.is_none()
        })
        .await;
        let all = map([("capacity", text("9")), ("batch", number("5"))]);
        edit_and_wait("SET #settings = :value", Some(all), |settings| {
            (settings.capacity, settings.batch) == (9, 5)
        })
        .await;
        edit_and_wait("SET #settings = :value", Some(map([])), |settings| {
            *settings == Settings::default()
        })
        .await;
    };
    promoter.run(operator).await;
    println!("edit_in_force_worst_ms={}", slowest.as_millis());
}

#[tokio::test]
async fn invalid_edit_is_refused_by_name_and_shown_everywhere() {
    let deployment = create_queue(json!({ "capacity": 7 })).await;
    let (line, promoter, admin) = (
        deployment.line().await,
        deployment.promoter().await,
        deployment.admin().await,
    );
    let valid = deployment.settings_in_force(&line).await;
    let describe = json!({ "op": "describe", "queue": deployment.queue.as_str() });
    let refused_metric_is = |value: f64| deployment.written.values(SETTINGS_REFUSED).last() == Some(&value);
    let set = "SET #settings = :value";
    let one = |name: &str, value| Some(map([(name, value)]));
    let invalid = [
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
    for (case, expression, value, reason) in invalid {
        deployment.edit(expression, value).await;
        match sync_settings(&line, &backup, &deployment.queue, SettingsPolicy::default()).await {
            Ok(SyncOutcome::Refused { error, .. }) => {
                assert!(error.to_string().starts_with(reason), "{error}");
            }
            other => panic!("{case}: the edit was not refused: {other:?}"),
        }
        assert_eq!(deployment.settings_in_force(&line).await, valid, "{case}");
        let described = run_command(&admin, describe.clone()).await;
        let problem = described["stored_settings_problem"]
            .as_str()
            .expect("a problem with the stored settings");
        assert!(problem.starts_with(reason), "{case}: {problem}");
        assert_eq!(
            described["settings"],
            json!(valid),
            "{case}: the old settings are in force"
        );
        assert_ne!(
            described["stored_settings"],
            json!(valid),
            "{case}: the stored settings are shown"
        );
    }
    let operator = async {
        wait_until(BOUND, "the metric shows the refusal", async || {
            refused_metric_is(1.0)
        })
        .await;
        // The operator corrects the item. The settings in force were never changed.
        deployment.edit(set, one("capacity", number("7"))).await;
        wait_until(BOUND, "the metric shows the correction", async || {
            refused_metric_is(0.0)
        })
        .await;
        assert_eq!(deployment.settings_in_force(&line).await, valid);
    };
    promoter.run(operator).await;
}

#[tokio::test]
async fn pause_works_beside_any_invalid_edit() {
    let deployment = create_queue(json!({ "capacity": 7 })).await;
    let (line, admin) = (deployment.line().await, deployment.admin().await);
    let command = |op: &str| json!({ "op": op, "queue": deployment.queue.as_str() });
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
        run_command(&admin, command("pause")).await;
        let settings = deployment.settings_in_force(&line).await;
        assert_eq!((settings.paused, settings.capacity), (true, 7), "after {left:?}");
        run_command(&admin, command("resume")).await;
        assert!(
            !deployment.settings_in_force(&line).await.paused,
            "after {left:?}"
        );
        deployment.edit(set, Some(map([("capacity", number("7"))]))).await;
    }
}

/// If the item is damaged or deleted, the queue continues with the settings in force. The operator sees the problem
/// until the item is put back.
#[tokio::test]
async fn damaged_or_deleted_item_is_shown_and_can_be_put_back() {
    let deployment = create_queue(json!({ "capacity": 7 })).await;
    let (line, admin, promoter) = (
        deployment.line().await,
        deployment.admin().await,
        deployment.promoter().await,
    );
    let refused_metric_is = |value: f64| deployment.written.values(SETTINGS_REFUSED).last() == Some(&value);
    let wait_until_shown = async |case: &str| {
        wait_until(BOUND, case, async || refused_metric_is(1.0)).await;
        let describe = json!({ "op": "describe", "queue": deployment.queue.as_str() });
        let answer = admin.handle(describe).await;
        let detail = answer["problem"]["detail"].as_str().expect("a problem");
        assert!(detail.contains(case), "{detail}");
        assert_eq!(deployment.settings_in_force(&line).await.capacity, 7);
    };
    let operator = async {
        wait_until(BOUND, "the queue is served", async || refused_metric_is(0.0)).await;
        let item = deployment.read_settings_item().await;
        let set = "SET #settings_order = :value";
        deployment.edit(set, Some(text("one"))).await;
        wait_until_shown("settings_order").await;
        deployment.put_item(item.clone()).await;
        wait_until(BOUND, "the item is correct again", async || {
            refused_metric_is(0.0)
        })
        .await;

        deployment.delete_part("settings").await;
        wait_until_shown("settings").await;
        let listed = run_command(&admin, json!({ "op": "list" })).await;
        assert_eq!(listed["queues"][0]["queue"], deployment.queue.as_str());
        let key = ["queue", "part"].map(|name| (name.to_owned(), item[name].clone()));
        let mut new = HashMap::from(key);
        new.insert("settings".to_owned(), map([("capacity", text("9"))]));
        deployment.put_item(new).await;
        wait_until(BOUND, "the new item is in force", async || {
            refused_metric_is(0.0) && deployment.settings_in_force(&line).await.capacity == 9
        })
        .await;
    };
    promoter.run(operator).await;
}
