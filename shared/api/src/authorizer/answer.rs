//! The answer of the authorizer: a policy, or a simple response. Both have the same context, whose
//! values are strings, numbers and booleans, because the gateway drops any other value.

use serde_json::{Map, Value, json};
use vestibule_domain::id::QueueId;

use super::{
    admission::{Admission, Denial},
    event::AnswerFormat,
};

/// The principal of a denial, in which no visitor is proven.
const UNKNOWN_PRINCIPAL: &str = "unknown";

/// Builds the answer. `only_queue` is the queue where a visitor without a credential enters, if there is
/// only one.
pub(super) fn build_answer(
    format: &AnswerFormat,
    only_queue: Option<&QueueId>,
    decision: Result<Admission, Denial>,
) -> Value {
    let is_allowed = decision.is_ok();
    let (principal, context) = match decision {
        Ok(admission) => (admission.entry.to_string(), admission.context()),
        Err(denial) => (UNKNOWN_PRINCIPAL.to_owned(), denial.context(only_queue)),
    };
    match format {
        // The policy is about this very request. A wider one would be of use to a cache only, and with a cache
        // neither the limit nor the state of the visit would count.
        AnswerFormat::Policy { method_arn } => json!({
            "principalId": principal,
            "policyDocument": {
                "Version": "2012-10-17",
                "Statement": [{
                    "Action": "execute-api:Invoke",
                    "Effect": if is_allowed { "Allow" } else { "Deny" },
                    "Resource": method_arn,
                }],
            },
            "context": context,
        }),
        AnswerFormat::Simple => json!({ "isAuthorized": is_allowed, "context": context }),
    }
}

impl Admission {
    fn context(&self) -> Map<String, Value> {
        let fields = [
            ("queue", json!(self.queue.as_str())),
            ("entry", json!(self.entry.to_string())),
            ("visit", json!(self.visit.number())),
            ("state", json!(self.state.name())),
            ("expires_at_ms", json!(self.expires_at_ms)),
            ("degraded", json!(self.degraded)),
        ];
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect()
    }
}

impl Denial {
    /// A template of the gateway puts the values between quotes as they are, so none of them has a character
    /// that JSON escapes. All are always there, because a template has no condition.
    fn context(&self, only_queue: Option<&QueueId>) -> Map<String, Value> {
        let queue = self.queue.as_ref().or(only_queue).map_or("", QueueId::as_str);
        let fields = [
            ("reason", json!(self.problem.code().name())),
            ("title", json!(self.problem.code().title())),
            ("retry_after_seconds", json!(self.retry_after_seconds)),
            ("queue", json!(queue)),
        ];
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect()
    }
}
