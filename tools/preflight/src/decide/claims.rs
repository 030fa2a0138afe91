//! Whether the functions find the visitor in the tokens that the authorizer reads.

use std::collections::BTreeSet;

use vestibule_domain::preflight::Finding;
use vestibule_sizing::ceilings::Function;

use super::unanswered::unanswered;
use crate::account_answers::{ClaimsAnswer, FunctionAnswer, StackAnswer};

const CHECK: &str = "visitor-claim";
/// The variable by which a function knows the claim.
const VARIABLE: &str = "VESTIBULE_VISITOR_CLAIM";

/// Whether the claim of `VisitorClaim` is the one that functions read, and one that tokens have.
pub(super) fn claim_finding(
    stack: &StackAnswer,
    functions: &[FunctionAnswer],
    claims: &ClaimsAnswer,
) -> Finding {
    let wanted = stack.text("VisitorClaim");
    let configuration = functions
        .get(Function::Enter as usize)
        .map(|function| &function.configuration);
    match configuration {
        Some(Ok(configuration)) => {
            let read = configuration.environment.get(VARIABLE).map_or("", String::as_str);
            if read != wanted {
                return Finding::fault(
                    CHECK,
                    format!(
                        "the functions that serve requests read the claim {read:?}, and VisitorClaim is {wanted:?}"
                    ),
                    "deploy with a new ProvisionedRelease: a published version keeps the parameters of its release",
                );
            }
        }
        Some(Err(reason)) => {
            let remedy =
                "give yourself the right lambda:GetFunctionConfiguration on the functions of the stack";
            return unanswered(CHECK, reason, remedy);
        }
        None => {}
    }
    match claims {
        ClaimsAnswer::NoAuthorizer => Finding::ok(CHECK, "no authorizer names visitors, so no claim is read"),
        ClaimsAnswer::OfToken(Ok(claims)) => decide_by_names(wanted, claims, "the token"),
        ClaimsAnswer::OfPool(Ok(claims)) => decide_by_names(wanted, claims, "the user pool"),
        ClaimsAnswer::OfToken(Err(reason)) => Finding::fault(
            CHECK,
            format!("the authorizer does not accept the token: {reason}"),
            "give a valid token of a visitor in VISITOR_TOKEN, and let API Gateway invoke the authorizer",
        ),
        ClaimsAnswer::OfPool(Err(reason)) => unanswered(
            CHECK,
            reason,
            "give yourself the right cognito-idp:DescribeUserPool, or a visitor's token in VISITOR_TOKEN",
        ),
        ClaimsAnswer::NoToken => Finding::unknown(
            CHECK,
            format!("only a token shows whether your authorizer returns {wanted:?}"),
            "give a visitor's token in VISITOR_TOKEN",
        ),
    }
}

fn decide_by_names(wanted: &str, claims: &BTreeSet<String>, holder: &str) -> Finding {
    if claims.contains(wanted) {
        return Finding::ok(CHECK, format!("{holder} has the claim {wanted:?}"));
    }
    let names = claims.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Finding::fault(
        CHECK,
        format!("{holder} has no claim {wanted:?}, so every visitor is refused; it has {names}"),
        "set VisitorClaim to a claim that every visitor's token has, such as sub",
    )
}
