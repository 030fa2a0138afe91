//! The authorizer: whom it lets through to an API of the shop, and what its answers say.

mod answers;
mod limit;
mod passes;
mod tokens;

use std::{fs, path::PathBuf, sync::Arc};

use libtest_mimic::Trial;
use serde_json::{Value, json};
use vestibule_api::{
    authorizer::Authorizer,
    config::AuthorizerConfig,
    pass::{PassGrant, PassSigner},
};
use vestibule_domain::score::Visit;
use vestibule_tests::in_process::{ApiRequest, InProcessApi, QUEUE, entry_path};

use super::Guest;

pub(crate) fn trials() -> Vec<Trial> {
    [
        answers::trials(),
        limit::trials(),
        passes::trials(),
        tokens::trials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The answer of the authorizer, whatever its form.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) allowed: bool,
    pub(super) context: Value,
}

impl Answer {
    pub(super) fn from_json(answer: &Value) -> Self {
        let statement = &answer["policyDocument"]["Statement"][0];
        let allowed = match &answer["isAuthorized"] {
            Value::Bool(allowed) => *allowed,
            _ => statement["Effect"] == "Allow",
        };
        let context = answer["context"].clone();
        for (name, value) in context.as_object().expect("a context") {
            let is_plain = value.is_string() || value.is_number() || value.is_boolean();
            assert!(is_plain, "the gateway drops {name}: {value}");
        }
        Self { allowed, context }
    }

    #[track_caller]
    pub(super) fn expect_allowed(&self) {
        assert!(self.allowed, "{self:?}");
    }

    #[track_caller]
    pub(super) fn expect_denied(&self, reason: &str) {
        assert!(!self.allowed, "{self:?}");
        assert_eq!(self.context["reason"], reason, "{self:?}");
        assert!(self.context["retry_after_seconds"].is_u64(), "{self:?}");
    }
}

/// The configuration for these queues, without a limit.
pub(super) fn config_for(queues: &str) -> AuthorizerConfig {
    AuthorizerConfig {
        queues: queues.parse().expect("a list of queues"),
        limit: None,
    }
}

pub(super) fn authorizer(api: &InProcessApi) -> Arc<Authorizer> {
    api.start_authorizer(config_for(QUEUE))
}

pub(super) async fn ask(authorizer: &Authorizer, event: Value) -> Answer {
    Answer::from_json(&authorizer.authorize(event).await.expect("an event"))
}

/// A recorded event of `infra/events` with another credential.
pub(super) fn recorded_event(name: &str, pass: &str) -> Value {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../infra/events/authorizer-{name}.json"));
    let text = fs::read_to_string(path).expect("readable");
    serde_json::from_str(&text.replace("PASS", pass)).expect("JSON")
}

/// An event of a REST API with these headers.
pub(super) fn request_event(headers: &[(&str, &str)]) -> Value {
    let mut event = recorded_event("request", "");
    let pairs = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!([value])));
    event["multiValueHeaders"] = Value::Object(pairs.collect());
    event
}

pub(super) fn event_with_pass(pass: &str) -> Value {
    request_event(&[("Authorization", &format!("Bearer {pass}"))])
}

pub(super) fn event_with_token(token: &str, visitor: &str) -> Value {
    let bearer = format!("Bearer {token}");
    request_event(&[("authorization", &bearer), ("x-visitor-id", visitor)])
}

/// Signs a pass of this entry for this queue that was issued `seconds_ago` and is valid for a minute.
pub(super) fn sign_pass(
    signer: &PassSigner,
    api: &InProcessApi,
    guest: &Guest,
    (queue, epoch, seconds_ago): (&str, u32, u64),
) -> String {
    let issued_at_ms = api.now_ms() - seconds_ago * 1_000;
    let grant = PassGrant {
        queue: &queue.parse().expect("a queue id"),
        entry: guest.token.parse().expect("a token"),
        visit: Visit::new(guest.visit).expect("a visit"),
        epoch,
        pass_end_ms: issued_at_ms + 60_000,
    };
    let pass = signer.sign(&grant, issued_at_ms);
    pass.expect("signs").reveal().to_owned()
}

pub(super) async fn complete(api: &InProcessApi, guest: &Guest) {
    let path = format!("{}/complete", entry_path(&guest.token));
    api.send(ApiRequest::post(path).json(&json!({})))
        .await
        .expect_status(204);
}
