//! What a preflight finds: one line for each thing that must hold before a sale.

use serde::{Deserialize, Serialize};

/// Whether a thing is as a sale needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is.
    Ok,
    /// It is not, and the remedy says what to do.
    Fault,
    /// The preflight could not find out, and the remedy says how to.
    Unknown,
}

impl Outcome {
    /// Its name, as the answer of the command has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fault => "fault",
            Self::Unknown => "unknown",
        }
    }
}

/// What a preflight found of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The stable name of the check, such as `line-time`.
    pub check: String,
    /// Whether the thing is as it must be.
    pub outcome: Outcome,
    /// What the preflight saw.
    pub found: String,
    /// What to do, in one sentence. Absent if the outcome is `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    /// The thing is as it must be.
    pub fn ok(check: &str, found: impl Into<String>) -> Self {
        Self {
            check: check.to_owned(),
            outcome: Outcome::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    /// The thing is not as it must be.
    pub fn fault(check: &str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Fault,
            remedy: Some(remedy.into()),
            ..Self::ok(check, found)
        }
    }

    /// The preflight could not find out.
    pub fn unknown(check: &str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Unknown,
            remedy: Some(remedy.into()),
            ..Self::ok(check, found)
        }
    }
}
