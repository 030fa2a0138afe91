//! A right acts on nobody but whom its credential names: every pair of credentials, on every route, at entries in every
//! state. Of each request, all entries of line and backup are compared before and after.

mod credential;
mod request;
mod scene;

use std::collections::BTreeSet;

use vestibule_domain::{
    id::{EntryId, Visitor},
    lane::Lane,
    score::WaitScore,
};
use vestibule_tests::{
    api::ApiResponse,
    in_process::{EntryFields, EntrySnapshot, id_key},
};

use self::{
    credential::{Attacker, Credential, Right},
    request::Route,
    scene::Scene,
};

super::cases![
    no_request_acts_on_an_entry_that_its_credentials_do_not_name,
    no_visitor_enters_with_a_right_of_another,
];

async fn no_request_acts_on_an_entry_that_its_credentials_do_not_name() {
    let scene = Scene::start("anyone").await;
    let mut acting = BTreeSet::new();
    for pair in Credential::pairs() {
        let attacker = scene.new_attacker(true).await;
        // A tick calls the attacker, too, so that each own request checks in.
        scene.api.promote().await;
        let victims = scene.victims.iter().map(|(_, id)| *id);
        let targets: Vec<_> = victims.chain(attacker.entries()).collect();
        for route in Route::OF_AN_ENTRY.into_iter().filter(|route| route.takes(pair)) {
            for target in &targets {
                if send_about(&scene, &attacker, pair, route, *target).await {
                    acting.insert(route);
                }
            }
        }
    }
    let seen = [Route::Status, Route::Close, Route::Leave];
    assert!(
        seen.iter().all(|route| acting.contains(route)),
        "the snapshots show what the visitors' own requests do: {acting:?}"
    );
}

/// Sends a request about an entry. Returns whether it changed the entry.
async fn send_about(
    scene: &Scene,
    attacker: &Attacker,
    pair: [Credential; 2],
    route: Route,
    target: EntryId,
) -> bool {
    let kind = scene.victims.iter().find(|(_, id)| *id == target);
    let case = format!(
        "{route:?} with {pair:?} about {}",
        kind.map_or("an own entry", |kind| kind.0)
    );
    let ids: Vec<_> = scene
        .victims
        .iter()
        .map(|(_, id)| *id)
        .chain(attacker.entries())
        .collect();
    let before = (
        scene.api.snapshot_entries(&ids).await,
        scene.api.check_ins().await,
    );
    let event = route.event(&target.to_string(), attacker, pair, &scene.shop());
    let answer = scene.send(&event).await;
    let after = (
        scene.api.snapshot_entries(&ids).await,
        scene.api.check_ins().await,
    );

    let is_named = attacker.has_right(pair, target, Right::Own);
    let changed = before.0.changed(&after.0);
    for entry in &changed {
        let (was, is) = (before.0.of(*entry), after.0.of(*entry));
        assert!(
            is_named && *entry == target,
            "{case}: {was:?}\n{is:?}\n{answer:?}"
        );
    }
    if !is_named {
        assert_eq!(before.1, after.1, "{case}: it counted as a check-in");
        assert_tells_stranger(&case, route, &answer);
    } else if route == Route::Status && answer.status == 200 {
        answer.expect_absent(&["proven"]);
        assert!(answer.body["retry_after_ms"].is_u64(), "{case}: {answer:?}");
    }
    !changed.is_empty()
}

/// Asserts that the answer gives nothing to a caller who is not the visitor, and does not tell such a caller to wait.
fn assert_tells_stranger(case: &str, route: Route, answer: &ApiResponse) {
    if route == Route::Page && answer.status == 200 {
        let html = answer.body.as_str().expect("a page");
        assert!(!html.contains("<form"), "{case}: {html}");
        assert!(!answer.headers.contains_key("refresh"), "{case}: {answer:?}");
    } else if route == Route::Status && answer.status == 200 {
        assert_eq!(answer.body["proven"], false, "{case}: {answer:?}");
        answer.expect_absent(&[
            "pass",
            "visitor",
            "retry_after_ms",
            "look_after_ms",
            "leave_on_close",
        ]);
    } else {
        // The claims of tickets and of the authorizer also name visitors who have no such entry.
        assert!(!answer.status.is_success(), "{case}: {answer:?}");
    }
}

async fn no_visitor_enters_with_a_right_of_another() {
    for visitors in ["anyone", "known", "ticket"] {
        let scene = Scene::start(visitors).await;
        let mut let_in = 0;
        for pair in Credential::pairs().filter(|pair| Route::Enter.takes(*pair)) {
            for has_entered in [false, true] {
                let attacker = scene.new_attacker(has_entered).await;
                let entering = Entering {
                    scene: &scene,
                    attacker: &attacker,
                    pair,
                };
                let_in += usize::from(entering.send(visitors).await);
            }
        }
        assert!(let_in > 10, "{let_in} test visitors were let in");
    }
}

/// A request to enter.
struct Entering<'a> {
    scene: &'a Scene,
    attacker: &'a Attacker,
    pair: [Credential; 2],
}

impl Entering<'_> {
    /// Returns whether an entry became active.
    async fn send(&self, visitors: &str) -> bool {
        let (attacker, pair) = (self.attacker, self.pair);
        let case = format!("{pair:?} in a queue for {visitors}");
        let victims = self.scene.victims.iter().map(|(_, id)| *id);
        let ids: Vec<_> = victims.chain(attacker.entries()).collect();
        let before = self.scene.api.snapshot_entries(&ids).await;
        let event = Route::Enter.event("", attacker, pair, &self.scene.shop());
        let answer = self.scene.send(&event).await;
        let after = self.scene.api.snapshot_entries(&ids).await;
        for entry in before.changed(&after) {
            self.assert_rights(
                &format!("{case}: {answer:?}"),
                visitors,
                &answer,
                entry,
                [&before, &after],
            );
        }
        if let Some(visitor) = answer.body["visitor"].as_str() {
            let proven = id_key().verify_secret(visitor);
            let proven = proven.or_else(|| Some(id_key().entry_id(&Visitor::anonymous(visitor).ok()?)));
            assert_eq!(
                proven.map(|id| id.to_string()).as_deref(),
                answer.body["token"].as_str(),
                "{case}"
            );
        }
        let is_bypass = pair.contains(&Credential::BypassTicket);
        if is_bypass && answer.status.is_success() {
            assert_eq!(answer.text("token"), attacker.member.to_string(), "{case}");
        }
        answer.body["state"] == "active"
    }

    fn assert_rights(
        &self,
        case: &str,
        visitors: &str,
        answer: &ApiResponse,
        entry: EntryId,
        [before, after]: [&EntrySnapshot; 2],
    ) {
        let (was, is) = (before.of(entry), after.of(entry));
        let has = |right| self.attacker.has_right(self.pair, entry, right);
        if was.is_empty()
            && answer.body["visitor"]
                .as_str()
                .is_some_and(|id| Visitor::anonymous(id).is_ok())
        {
            // The server has drawn an id for a visitor without any.
            assert!(
                visitors == "anyone" && answer.text("token") == entry.to_string(),
                "{case}"
            );
            return;
        }
        assert!(has(Right::Enter), "an entry that is not named changed: {case}");
        if is.contains_key("active") {
            assert!(has(Right::Bypass), "let in past the line: {case}");
        }
        let lane = |fields: &EntryFields| fields.get("waiting").map(|place| read_lane(place));
        if lane(&is).is_some_and(|lane| lane != Lane::DEFAULT.number()) {
            assert!(has(Right::Lane), "got a lane: {case}");
        }
        if is_live(&was) && !is_live(&is) {
            let is_bypass = self.pair.contains(&Credential::BypassTicket);
            assert!(is_bypass && has(Right::Own), "lost the place: {case}");
        }
        if !is_live(&was) && is_live(&is) && visitors == "ticket" {
            assert!(has(Right::Begin), "began a visit: {case}");
        }
    }
}

fn is_live(fields: &EntryFields) -> bool {
    ["waiting", "ready", "active"]
        .iter()
        .any(|key| fields.contains_key(*key))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A place is a whole number below 2^53.
fn read_lane(place: &str) -> u8 {
    let place: f64 = place.parse().expect("a number");
    WaitScore::from_raw(place as u64).expect("a place").lane()
}
