//! What the log of orders is to say of a command.

use serde_json::{Map, Value};
use vestibule_domain::{id::QueueId, right::Right};
use vestibule_wire::commands::{CALLER_FIELD, Operation};

use super::invocation::Invocation;

/// The operations that concern no single queue, and `check`, which changes no visit. They are not in the log, and neither are
/// those that [look](Right::Look).
const UNRECORDED: [&str; 3] = ["check", "defaults", "rotate"];

/// The fields of a command that its log entry leaves out: what the entry has anyway, the confirmation, and what names a
/// visitor or an entry.
const OMITTED_FIELDS: [&str; 11] = [
    "op",
    "queue",
    "queues",
    "confirm",
    "epoch",
    "revision",
    "token",
    "tokens",
    "visitor",
    "kind",
    CALLER_FIELD,
];

/// The member of a result with the settings that the command changed, as they were before.
const SETTINGS_BEFORE: &str = "settings_before";

/// The longest text of the fields of a command, in characters. Settings such as `ticket_keys` may be longer.
const ARGUMENTS_CHARS_MAX: usize = 1_000;

/// What the log is to say of a command, as far as it is known before the command is carried out.
#[derive(Debug)]
pub(super) struct PendingOrder {
    pub(super) queues: Vec<QueueId>,
    pub(super) op: &'static str,
    pub(super) caller: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) arguments: String,
    /// The tokens of the entries that it concerned.
    pub(super) tokens: Vec<String>,
    pub(super) settings_before: Map<String, Value>,
    pub(super) revision: Option<String>,
}

impl PendingOrder {
    /// Describes a command. `None` if it does not belong into a log.
    pub(super) fn new(operation: &Operation, event: &Value, invocation: &Invocation) -> Option<Self> {
        let is_look = operation.right == Right::Look;
        if is_look || UNRECORDED.contains(&operation.name) {
            return None;
        }
        let names = event["queues"].as_array().into_iter().flatten();
        let names = names.chain([&event["queue"]]).filter_map(Value::as_str);
        let mut queues: Vec<QueueId> = names.filter_map(|name| name.parse().ok()).collect();
        queues.sort_unstable();
        queues.dedup();
        let identity = invocation.identity.clone();
        Some(Self {
            queues,
            op: operation.name,
            // What AWS says counts more than what the command says.
            caller: identity.or_else(|| event[CALLER_FIELD].as_str().map(str::to_owned)),
            request_id: invocation.request_id.clone(),
            arguments: event.as_object().map(describe_arguments).unwrap_or_default(),
            tokens: list_texts(&event["tokens"]),
            settings_before: Map::new(),
            revision: None,
        })
    }

    /// Takes from the result of the command which entry it concerned, however the command named it, and which settings it
    /// changed.
    pub(super) fn with_result(mut self, result: &Value) -> Self {
        self.tokens.extend(result["token"].as_str().map(str::to_owned));
        if let Some(before) = result[SETTINGS_BEFORE].as_object().filter(|map| !map.is_empty()) {
            self.settings_before.clone_from(before);
            self.revision = result["revision"].as_str().map(str::to_owned);
        }
        self
    }
}

fn list_texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The fields of a command as JSON, cut off where they are too long.
fn describe_arguments(command: &Map<String, Value>) -> String {
    let shown = command
        .iter()
        .filter(|(name, value)| !OMITTED_FIELDS.contains(&name.as_str()) && !value.is_null());
    let shown: Map<String, Value> = shown.map(|(name, value)| (name.clone(), value.clone())).collect();
    if shown.is_empty() {
        return String::new();
    }
    let text = Value::Object(shown).to_string();
    match text.char_indices().nth(ARGUMENTS_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
