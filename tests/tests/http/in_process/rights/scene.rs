//! A queue with victims in every state, none of whose credentials an attacker has.

use std::{cell::Cell, time::Duration};

use axum::Router;
use serde_json::{Value, json};
use vestibule_api::config::{ApiConfig, ServiceRoutes};
use vestibule_backup::{Backup, PutOutcome};
use vestibule_domain::id::EntryId;
use vestibule_line::{Arrival, EnterOutcome, LeaveOutcome, LeaveReason};
use vestibule_tests::{
    api::{ApiRequest, ApiResponse},
    in_process::{InProcessApi, anonymous_visitor, entry_path, queue_id, send_event_to},
    tickets::{TicketIssuer, claims, key_set},
};

use super::credential::{Attacker, Shop};

const LIMIT: Duration = Duration::from_secs(29);
/// Visitor ids below this number are those of victims.
const ATTACKERS_FROM: u64 = 1_000;

pub(super) struct Scene {
    pub(super) api: InProcessApi,
    /// A process that began when the queue had its victims.
    router: Router,
    issuer: TicketIssuer,
    pub(super) victims: Vec<(&'static str, EntryId)>,
    /// The pass of a visitor who is inside, and the entry that it names.
    pass: (String, EntryId),
    attackers: Cell<u64>,
}

impl Scene {
    /// A queue with free slots and without a token of the pace, so that a visitor who enters waits.
    pub(super) async fn start(visitors: &str) -> Self {
        let issuer = TicketIssuer::ec("shop-1", 21);
        let config = || ApiConfig {
            service_routes: ServiceRoutes::Unguarded,
            lane_claim: Some("tier".to_owned()),
            ..ApiConfig::default()
        };
        let mut settings = json!({
            "capacity": 100_000, "batch": 1, "interval_seconds": 3_600, "session_seconds": 86_400,
            "claim_seconds": 3_600, "leave_on_close": true, "ticket_keys": key_set(&[&issuer]),
        });
        let api = InProcessApi::start_with_config(config(), settings.clone()).await;
        let inside = enter(&api, 0).await;
        assert_eq!(inside.text("state"), "active");
        let pass = (inside.text("pass").to_owned(), entry_of(&inside));
        let mut victims = Vec::new();
        for (number, kind) in (1..).zip(["ready", "waiting", "closing", "ended", "lost"]) {
            let entered = enter(&api, number).await;
            assert_eq!(entered.text("state"), "waiting");
            victims.push((kind, entry_of(&entered)));
            poll(&api, number, &entered).await;
        }
        for (kind, changes) in [("member", json!({})), ("active", json!({ "bypass": true }))] {
            let mut claims = claims(kind, api.now_ms());
            let fields = claims.as_object_mut().expect("an object");
            fields.extend(changes.as_object().expect("an object").clone());
            let with_ticket = ApiRequest::enter().json(&json!({ "ticket": issuer.sign(&claims) }));
            let entered = api.send(with_ticket).await;
            victims.push((kind, entry_of(entered.expect_status(201))));
            let polled = api.line.check_in(&queue_id(), victims[victims.len() - 1].1).await;
            polled.expect("an answer");
        }
        api.advance_seconds(3_600);
        for _ in 0..3 {
            api.promote().await;
            api.advance_seconds(1);
        }
        let (close, closing) = (anonymous_visitor(3).0, victims[2].1);
        let closed = format!("{}?closed=true", entry_path(&closing.to_string()));
        api.send(ApiRequest::delete(closed).visitor(&close))
            .await
            .expect_status(202);
        // The table does not have this end yet.
        let left = api
            .line
            .leave(&queue_id(), victims[3].1, None, LeaveReason::Leave)
            .await;
        assert!(matches!(left, Ok(LeaveOutcome::Ended(_))), "{left:?}");
        api.lose_entry(victims[4].1).await;
        settings["visitors"] = json!(visitors);
        api.configure_line(settings, "2").await;
        api.drop_shared_view().await;
        let scene = Self {
            router: api.start_second_process(config()),
            api,
            issuer,
            victims,
            pass,
            attackers: Cell::new(ATTACKERS_FROM),
        };
        scene.assert_victims().await;
        scene
    }

    /// Asserts that the victims are what the names say, so that an effect on each would show.
    async fn assert_victims(&self) {
        let ids: Vec<_> = self.victims.iter().map(|(_, id)| *id).collect();
        let entries = self.api.snapshot_entries(&ids).await;
        for (kind, id) in &self.victims {
            let fields = entries.of(*id);
            let expected: &[&str] = match *kind {
                "ready" => &["ready", "record"],
                "waiting" | "member" => &["waiting", "present", "record"],
                "closing" => &["waiting", "closing", "record"],
                "ended" => &["ended", "record"],
                "lost" => &["record"],
                _ => &["active", "record"],
            };
            assert!(
                expected.iter().all(|key| fields.contains_key(*key)),
                "{kind}: {fields:?}"
            );
        }
    }

    pub(super) fn shop(&self) -> Shop<'_> {
        Shop {
            issuer: &self.issuer,
            now_ms: self.api.now_ms(),
        }
    }

    /// An attacker with two anonymous places in line, and a third one under the name if `has_entered`.
    pub(super) async fn new_attacker(&self, has_entered: bool) -> Attacker {
        let number = self.attackers.replace(self.attackers.get() + 1);
        let attacker = Attacker::new(number, self.pass.clone());
        let [own, cookie, member] = attacker.entries();
        for id in [Some(own), Some(cookie), has_entered.then_some(member)]
            .into_iter()
            .flatten()
        {
            self.put_in_line(id).await;
        }
        attacker
    }

    async fn put_in_line(&self, id: EntryId) {
        let entered = self.api.line.enter(&queue_id(), id, Arrival::Ordinary).await;
        let Ok(EnterOutcome::Joined {
            change: Some(change), ..
        }) = entered
        else {
            panic!("{entered:?}");
        };
        let written = self.api.backup.put_change(&self.api.partition(), &change).await;
        assert!(matches!(written, Ok(PutOutcome::Stored(_))), "{written:?}");
    }

    pub(super) async fn send(&self, event: &Value) -> ApiResponse {
        send_event_to(&self.router, event, LIMIT).await
    }
}

async fn enter(api: &InProcessApi, number: u64) -> ApiResponse {
    let entered = api
        .send(ApiRequest::enter().visitor(&anonymous_visitor(number).0))
        .await;
    entered.expect_status(201);
    entered
}

async fn poll(api: &InProcessApi, number: u64, entered: &ApiResponse) {
    let status = ApiRequest::get(entry_path(entered.text("token")));
    let polled = api.send(status.visitor(&anonymous_visitor(number).0)).await;
    polled.expect_status(200);
}

fn entry_of(answer: &ApiResponse) -> EntryId {
    answer.text("token").parse().expect("a token")
}
