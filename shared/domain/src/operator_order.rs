//! An order of an operator, as the log of a queue keeps it and the report shows it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An order of an operator that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OperatorOrder {
    /// When it was carried out, in Unix milliseconds.
    pub at_ms: u64,
    /// The operation.
    pub op: String,
    /// The operator, as the identity of the call or the order itself says. Absent if neither does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The id of the request to the function, by which `CloudTrail` tells who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The generation of the queue after the order.
    pub generation: u32,
    /// The fields of the order, in JSON, without those that name a visitor or confirm the order.
    pub arguments: String,
    /// The tokens of the entries that the order concerned, however it named them. The log keeps them for as long as the
    /// records of the entries at most. Absent if it concerned none, or keeps them no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<String>,
    /// Until when the log keeps the tokens, in Unix milliseconds. Absent without tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_until_ms: Option<u64>,
    /// The settings that the order changed, as they were before. Absent if it changed none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings_before: Map<String, Value>,
    /// The revision of the settings after the order, if it changed settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

impl OperatorOrder {
    /// Whether the log keeps the tokens no more at `now_ms`, in Unix milliseconds.
    pub fn has_old_tokens(&self, now_ms: u64) -> bool {
        self.tokens_until_ms.is_some_and(|until_ms| until_ms <= now_ms)
    }

    /// The order as it stays in the log after the time of its tokens.
    #[must_use]
    pub fn without_tokens(self) -> Self {
        Self {
            tokens: Vec::new(),
            tokens_until_ms: None,
            ..self
        }
    }
}
