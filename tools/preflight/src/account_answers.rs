//! What AWS and the stack answered.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use vestibule_sizing::sizes::{BY_SIZE, number_by_size};

/// An answer, or the reason why there is none.
pub(crate) type Answer<T> = Result<T, String>;

/// All answers.
#[derive(Debug, Clone)]
pub(crate) struct AccountAnswers {
    pub stack: StackAnswer,
    pub executions: Answer<ExecutionQuota>,
    /// The functions behind the API, in the order of [`vestibule_sizing::ceilings::Function`].
    pub functions: Vec<FunctionAnswer>,
    pub requests: Answer<RequestQuota>,
    pub routes: Answer<BTreeSet<ApiRoute>>,
    /// The zone of each subnet of the functions.
    pub zones: Answer<Vec<String>>,
    pub claims: ClaimsAnswer,
    /// What the functions that serve visitors answered.
    pub starts: Vec<StartAnswer>,
    pub queues_table: Answer<TableAnswer>,
    pub entries_table: Answer<TableAnswer>,
}

/// What the stack was given.
#[derive(Debug, Clone)]
pub(crate) struct StackAnswer {
    /// The state of its last deployment.
    pub status: String,
    pub parameters: BTreeMap<String, String>,
}

impl StackAnswer {
    /// The value of a parameter. The empty text if the stack has none of the name, as an older one.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.parameters.get(name).map_or("", String::as_str)
    }

    /// The value of a parameter that is a number, its own or that of the size.
    pub(crate) fn number(&self, name: &str) -> u32 {
        match self.text(name) {
            BY_SIZE => number_by_size(self.text("Size"), name).unwrap_or(0),
            own => own.parse().unwrap_or(0),
        }
    }

    /// Whether the stack has the size of a trial.
    pub(crate) fn is_trial(&self) -> bool {
        self.text("Size") == "trial"
    }

    /// Whether the stack is on an emulator, whose quotas say nothing about an account.
    pub(crate) fn is_on_emulator(&self) -> bool {
        self.text("Emulator") == "yes"
    }
}

/// How many functions of the account may run at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExecutionQuota {
    pub limit: u32,
}

/// How many requests the APIs of the account get.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestQuota {
    /// Per second.
    pub rate: f64,
    /// At once.
    pub burst: u32,
}

/// One function.
#[derive(Debug, Clone)]
pub(crate) struct FunctionAnswer {
    /// Its reserved concurrency; `None` if nothing is reserved.
    pub reserved: Answer<Option<u32>>,
    pub configuration: Answer<FunctionConfiguration>,
}

/// The configuration that serves requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionConfiguration {
    pub environment: BTreeMap<String, String>,
    /// Empty if the function is in no VPC.
    pub subnets: Vec<String>,
}

/// A route of the API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ApiRoute {
    pub path: String,
    pub method: String,
}

/// What is known of the claims of visitors' tokens.
#[derive(Debug, Clone)]
pub(crate) enum ClaimsAnswer {
    /// No authorizer reads a token.
    NoAuthorizer,
    /// The claims of one token.
    OfToken(Answer<BTreeSet<String>>),
    /// The attributes of the users of a pool, which its tokens may have.
    OfPool(Answer<BTreeSet<String>>),
    /// A function of the owner decides, and no token was given.
    NoToken,
}

/// What happened when a function was called, so that it starts.
#[derive(Debug, Clone)]
pub(crate) struct StartAnswer {
    /// Its name in the outputs of the stack, without `Function`.
    pub name: &'static str,
    pub call: Answer<FunctionCall>,
}

/// What a function did when it was called.
#[derive(Debug, Clone)]
pub(crate) enum FunctionCall {
    /// Its code answered.
    Answered(FunctionReply),
    /// It did not start, or ended before it answered, with this error.
    Failed(String),
}

/// The answer of a function.
#[derive(Debug, Clone)]
pub(crate) struct FunctionReply {
    /// The HTTP status. A policy that denies counts as 403. 0 if the answer has none.
    pub status: u16,
    /// The body, or the context of a policy.
    pub body: Value,
    /// How long the function took to start, in milliseconds; `None` if it ran already, or the log does not say.
    pub init_ms: Option<f64>,
    /// What it started without.
    pub troubles: Vec<String>,
}

/// One table.
#[derive(Debug, Clone)]
pub(crate) struct TableAnswer {
    /// The number of its items some hours ago.
    pub items: u64,
    /// Whether it can be recovered to any point in time.
    pub has_recovery: bool,
    /// Whether items are deleted at their time.
    pub has_time_to_live: bool,
    pub has_deletion_protection: bool,
    /// Reads and writes per second that it takes at once; `None` if it does not say.
    pub warm_reads: Option<u32>,
    /// See [`TableAnswer::warm_reads`].
    pub warm_writes: Option<u32>,
}
