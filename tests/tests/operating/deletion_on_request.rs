//! A visitor asks the owner to delete what is stored. The operator has the commands and the table.

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use vestibule_backup::EntryPartition;
use vestibule_domain::id::EntryId;
use vestibule_engine::write_through::write_through;
use vestibule_line::{Arrival, EnterOutcome};

use crate::deployment::{Deployment, run_command};

#[tokio::test]
async fn the_record_of_a_visitor_is_found_and_deleted() {
    let deployment = Deployment::new().await;
    let (admin, line) = (deployment.admin().await, deployment.line().await);
    let queue = &deployment.queue;
    let create = json!({ "op": "create", "queue": queue.as_str(), "settings": { "paused": true } });
    run_command(&admin, create).await;
    let inspect = json!({ "op": "inspect", "queue": queue.as_str(), "visitor": "ada@example.com" });
    let unknown = run_command(&admin, inspect.clone()).await;
    assert_eq!(unknown["item"], Value::Null, "{unknown}");

    let id: EntryId = unknown["token"]
        .as_str()
        .and_then(|id| id.parse().ok())
        .expect("an id");
    let view = line.queue_view(queue).await.expect("an answer");
    let partition = EntryPartition::from_configuration(queue, &view.configuration);
    let Ok(EnterOutcome::Joined {
        change: Some(change), ..
    }) = line.enter(queue, id, Arrival::Ordinary).await
    else {
        panic!("the visitor could not enter")
    };
    let backup = deployment.backup().await;
    write_through(&line, &backup, &partition, &change)
        .await
        .expect("written");

    let evict = json!({
        "op": "evict", "queue": queue.as_str(), "visitor": "ada@example.com", "confirm": queue.as_str(), "epoch": 1,
    });
    assert_eq!(run_command(&admin, evict).await["durable"], true);
    let shown = run_command(&admin, inspect.clone()).await;
    let keys = shown["item"].as_object().expect("the keys of the item").iter();
    let keys = keys.map(|(name, key)| {
        let key = key.as_str().expect("a text");
        (name.clone(), AttributeValue::S(key.to_owned()))
    });
    deployment.delete_entry_item(keys.collect()).await;
    let deleted = run_command(&admin, inspect.clone()).await;
    assert_eq!(
        (&deleted["item"], &deleted["record"]),
        (&Value::Null, &Value::Null)
    );

    // No repair brings it back.
    run_command(&admin, json!({ "op": "check", "queue": queue.as_str() })).await;
    let checked = run_command(&admin, inspect).await;
    assert_eq!(checked["record"], Value::Null, "{checked}");
}
