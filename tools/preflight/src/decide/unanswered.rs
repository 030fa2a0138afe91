//! The finding of a question that AWS did not answer.

use vestibule_domain::preflight::Finding;

/// AWS did not answer, for this reason. That is no fault of the thing that was asked for.
pub(super) fn unanswered(check: &str, reason: &str, remedy: &str) -> Finding {
    Finding::unknown(check, format!("AWS did not answer: {reason}"), remedy)
}
