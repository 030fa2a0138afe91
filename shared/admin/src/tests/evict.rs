//! The command `evict` for many entries.

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_domain::{
    change::Change,
    id::{EntryId, IdKey, Source},
    state::EntryState,
};
use vestibule_engine::write_through::write_through;
use vestibule_line::{Arrival, EnterOutcome};

use super::{AdminFixture, entry_partition, queue, root_key};

/// The shortest time after which a silent visitor counts as never present, in seconds.
const CALL_SECONDS: u64 = 1;

impl AdminFixture {
    pub(super) async fn source(&self, address: &str) -> Source {
        let salt = self.stored_queue().await.metadata.salt;
        let ids = IdKey::derive_for_queue(&root_key(), &queue(), &salt).expect("the key of the salt");
        ids.source(address.parse().expect("an address"))
    }

    /// Lets a known visitor enter from a source.
    pub(super) async fn enter_from(&self, visitor: &str, source: Source) -> EntryId {
        let id = self.entry_id(visitor).await;
        let Ok(EnterOutcome::Joined {
            change: Some(change), ..
        }) = self.line().enter(&queue(), id, Arrival::Ordinary).await
        else {
            panic!("did not enter")
        };
        let change = Change {
            source: Some(source),
            ..change
        };
        let written = write_through(self.line(), self.backup(), &entry_partition(), &change).await;
        assert!(written.expect("written").durable);
        id
    }

    pub(super) async fn enter_many_from(&self, name: &str, count: usize, source: Source) -> Vec<EntryId> {
        let mut ids = Vec::new();
        for number in 0..count {
            ids.push(self.enter_from(&format!("{name}{number}"), source).await);
        }
        ids
    }

    /// The visitor polls.
    pub(super) async fn poll(&self, id: EntryId) {
        self.line().check_in(&queue(), id).await.expect("an answer");
    }

    pub(super) async fn state_in_backup(&self, id: EntryId) -> EntryState {
        let record = self.backup().read_entry(&entry_partition(), id).await;
        record.expect("an answer").expect("a record").state
    }

    /// Sends an order to evict without its confirmation, and returns what it would do.
    async fn preview(&self, order: &Value) -> Value {
        let problem = self.run_refused(order.clone()).await;
        assert_eq!(problem["code"], "confirmation-needed", "{problem}");
        problem["matching"].clone()
    }

    pub(super) async fn run_confirmed(&self, mut order: Value) -> Value {
        order["confirm"] = json!("q");
        order["epoch"] = json!(1);
        self.run(order).await
    }
}

#[tokio::test]
async fn evict_by_source_spares_visitors_who_were_present() {
    let desk = AdminFixture::with_queue(
        json!({ "capacity": 1, "session_seconds": 3_600, "call_seconds": CALL_SECONDS }),
    )
    .await;
    let (bad, good) = (desk.source("203.0.113.7").await, desk.source("203.0.113.8").await);
    let active = desk.enter_from("active", bad).await;
    let honest = desk.enter_from("honest", bad).await;
    desk.poll(honest).await;
    let fakes = desk.enter_many_from("fake", 30, bad).await;
    let neighbour = desk.enter_from("neighbour", good).await;
    let order = json!({ "op": "evict", "queue": "q", "source": bad.to_string() });
    tokio::time::sleep(Duration::from_secs(CALL_SECONDS)).await;
    let newcomer = desk.enter_from("newcomer", bad).await;

    let matching = desk.preview(&order).await;
    assert_eq!(
        (&matching["entries"], &matching["spared"], &matching["complete"]),
        (&json!(30), &json!(3), &json!(true))
    );
    assert_eq!(
        desk.state_in_backup(fakes[0]).await,
        EntryState::Waiting,
        "nothing happened"
    );
    let evicted = desk.run_confirmed(order.clone()).await;
    assert_eq!(
        (
            &evicted["evicted"],
            &evicted["remaining"],
            &evicted["complete"],
            &evicted["durable"]
        ),
        (&json!(30), &json!(0), &json!(true), &json!(true))
    );
    for fake in &fakes {
        assert_eq!(desk.state_in_backup(*fake).await, EntryState::Evicted);
    }
    for (id, state) in [
        (honest, EntryState::Waiting),
        (newcomer, EntryState::Waiting),
        (neighbour, EntryState::Waiting),
        (active, EntryState::Active),
    ] {
        assert_eq!(desk.state_in_backup(id).await, state);
    }
    desk.poll(newcomer).await;
    assert_eq!(
        desk.run_confirmed(order.clone()).await["evicted"],
        0,
        "a repeat does nothing"
    );

    let mut everyone = order;
    everyone["all"] = json!(true);
    let matching = desk.preview(&everyone).await;
    assert_eq!(
        (
            &matching["entries"],
            &matching["present"],
            &matching["active"],
            &matching["spared"]
        ),
        (&json!(3), &json!(2), &json!(1), &json!(0))
    );
    assert_eq!(desk.run_confirmed(everyone).await["evicted"], 3);
    assert_eq!(desk.state_in_backup(active).await, EntryState::Evicted);
    // A pass may still be shown, so the slot is held.
    let stats = desk.run(json!({ "op": "stats", "queue": "q" })).await;
    assert_eq!(
        (&stats["active"], &stats["held"]),
        (&json!(0), &json!(1)),
        "{stats}"
    );
    assert_eq!(desk.state_in_backup(neighbour).await, EntryState::Waiting);
}

#[tokio::test]
async fn evict_by_time_or_list_matches_no_other_entry() {
    let desk = AdminFixture::with_queue(json!({ "paused": true, "call_seconds": CALL_SECONDS })).await;
    let source = desk.source("203.0.113.7").await;
    let ids = desk.enter_many_from("v", 6, source).await;
    tokio::time::sleep(Duration::from_secs(CALL_SECONDS)).await;
    let mut joined = Vec::new();
    for id in &ids {
        let record = desk.backup().read_entry(&entry_partition(), *id).await;
        let record = record.expect("an answer").expect("a record");
        joined.push(record.joined_at_ms().expect("a time"));
    }
    let by_time = |from: u64, to: u64| json!({ "op": "evict", "queue": "q", "joined_from_ms": from, "joined_to_ms": to });
    let early = desk.preview(&by_time(0, joined[0] - 1)).await;
    assert_eq!(early["entries"], 0);
    let within = joined.iter().filter(|at| **at <= joined[2]).count();
    let order = by_time(joined[0], joined[2]);
    assert_eq!(desk.preview(&order).await["entries"], within);
    assert_eq!(desk.run_confirmed(order).await["evicted"], within);
    assert_eq!(desk.state_in_backup(ids[0]).await, EntryState::Evicted);

    let other_source = desk.source("203.0.113.8").await;
    let mut combined = by_time(0, u64::MAX);
    combined["source"] = json!(other_source.to_string());
    assert_eq!(desk.preview(&combined).await["entries"], 0);

    // A list names its entries, so it removes also those who poll, and an entry once.
    let last = ids[5];
    desk.poll(last).await;
    let tokens = [last, last, ids[0]].map(|id| id.to_string());
    let listed = json!({ "op": "evict", "queue": "q", "tokens": tokens });
    assert_eq!(desk.preview(&listed).await["entries"], 1);
    assert_eq!(desk.run_confirmed(listed).await["evicted"], 1);
    assert_eq!(desk.state_in_backup(last).await, EntryState::Evicted);
}

#[tokio::test]
async fn evict_of_many_is_refused_if_it_is_ambiguous() {
    let desk = AdminFixture::with_queue(json!({ "presence_seconds": 0 })).await;
    let token = "0f8fad5b-d9cb-869f-a165-70867728950e";
    let refused = async |fields: Value| {
        let mut order = json!({ "op": "evict", "queue": "q" });
        for (name, value) in fields.as_object().expect("an object") {
            order[name] = value.clone();
        }
        let problem = desk.run_refused(order).await;
        assert_eq!(problem["code"], "invalid-command", "{problem}");
        problem["field"].clone()
    };
    assert_eq!(refused(json!({})).await, "token");
    assert_eq!(
        refused(json!({ "all": true })).await,
        "token",
        "not everyone by accident"
    );
    assert_eq!(refused(json!({ "source": "192.0.2.1" })).await, "source");
    assert_eq!(refused(json!({ "tokens": [] })).await, "tokens");
    assert_eq!(refused(json!({ "tokens": [1] })).await, "tokens");
    assert_eq!(refused(json!({ "tokens": vec![token; 1_001] })).await, "tokens");
    assert_eq!(
        refused(json!({ "tokens": [token], "joined_to_ms": 1 })).await,
        "tokens"
    );
    assert_eq!(
        refused(json!({ "tokens": [token], "token": token })).await,
        "tokens"
    );
    assert_eq!(refused(json!({ "token": token, "all": true })).await, "all");
    // While presence is off, no visitor can be spared.
    assert_eq!(refused(json!({ "joined_to_ms": 1 })).await, "all");
}
