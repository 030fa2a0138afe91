//! The function that serves the keys of passes: what it answers, and how fast it starts.

use vestibule_domain::preflight::Finding;

use super::unanswered::unanswered;
use crate::account_answers::{Answer, DocumentAnswer, DocumentCall};

/// The longest start of a function that a visitor may wait for, in milliseconds.
const START_MS_MAX: f64 = 1_000.0;
const REMEDY_OF_NO_ANSWER: &str = "give yourself the right lambda:InvokeFunction on DocumentFunction";

/// Whether the keys that verify passes are served.
pub(super) fn keys_finding(document: &Answer<DocumentAnswer>) -> Finding {
    const CHECK: &str = "public-keys";
    match document {
        Err(reason) => unanswered(CHECK, reason, REMEDY_OF_NO_ANSWER),
        Ok(DocumentAnswer::Failed(error)) => Finding::fault(
            CHECK,
            format!("the function failed: {error}"),
            "read the log group of DocumentFunction: it starts only with the secrets of the root key and the signing key",
        ),
        Ok(DocumentAnswer::Answered(call)) if call.status == 200 && call.keys > 0 => {
            Finding::ok(CHECK, format!("{} served, for ES256", count_of_keys(call.keys)))
        }
        Ok(DocumentAnswer::Answered(call)) => Finding::fault(
            CHECK,
            format!(
                "/.well-known/jwks.json answered {} with {}",
                call.status,
                count_of_keys(call.keys)
            ),
            "put a signing key into the secret (SigningKeySecretArn): services cannot check passes without it",
        ),
    }
}

fn count_of_keys(keys: usize) -> String {
    match keys {
        0 => "no key".to_owned(),
        1 => "one key".to_owned(),
        keys => format!("{keys} keys"),
    }
}

/// Whether a function starts soon enough.
pub(super) fn cold_start_finding(document: &Answer<DocumentAnswer>) -> Finding {
    const CHECK: &str = "cold-start";
    match document {
        Err(reason) => unanswered(CHECK, reason, REMEDY_OF_NO_ANSWER),
        Ok(DocumentAnswer::Failed(error)) => Finding::unknown(
            CHECK,
            format!("the function failed: {error}"),
            "mend what public-keys names, and run the preflight again",
        ),
        Ok(DocumentAnswer::Answered(DocumentCall { init_ms: None, .. })) => Finding::unknown(
            CHECK,
            "DocumentFunction ran already, so Lambda tells no time of a start",
            "wait a quarter of an hour without requests, or deploy, and run the preflight again",
        ),
        Ok(DocumentAnswer::Answered(DocumentCall {
            init_ms: Some(init_ms),
            ..
        })) => {
            let found = format!("DocumentFunction started in {init_ms:.0} ms");
            if *init_ms > START_MS_MAX {
                let remedy = "provision executions before the sale (…Provisioned), and see whether Redis and Secrets Manager \
                              answer slowly";
                Finding::fault(CHECK, found, remedy)
            } else {
                Finding::ok(CHECK, found)
            }
        }
    }
}
