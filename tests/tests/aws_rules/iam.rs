//! Evaluates policies as IAM does, with the condition keys that the template uses. An unknown operator, key or element
//! panics, so that no policy is taken for one that it is not.
//!
//! Source: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html>

use std::collections::BTreeMap;

use serde_json::Value;

use crate::stack::{items, object, text_of};

/// One call to AWS.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) action: String,
    pub(crate) resource: String,
    /// The values of the condition keys that the call has. A key that it has not is not there.
    pub(crate) context: BTreeMap<&'static str, Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Allowed,
    /// A statement denies the call.
    Denied,
    /// No statement allows it.
    NotAllowed,
}

/// Whether the statements of one policy, or of all policies of a role, allow a call. `principal` is the caller where the
/// policy names principals, as that of an endpoint or a bucket does.
pub(crate) fn decide<'a>(
    statements: impl IntoIterator<Item = &'a Value>,
    principal: Option<&str>,
    call: &Call,
) -> Decision {
    let mut decision = Decision::NotAllowed;
    for statement in statements {
        if !applies(statement, principal, call) {
            continue;
        }
        match statement["Effect"].as_str() {
            Some("Deny") => return Decision::Denied,
            Some("Allow") => decision = Decision::Allowed,
            other => panic!("an unknown effect {other:?}"),
        }
    }
    decision
}

/// The statements of a policy document.
pub(crate) fn statements(document: &Value) -> Vec<&Value> {
    assert_eq!(document["Version"], "2012-10-17", "{document}");
    items(&document["Statement"])
}

fn applies(statement: &Value, principal: Option<&str>, call: &Call) -> bool {
    for element in object(statement).keys() {
        let known =
            ["Sid", "Effect", "Principal", "Action", "Resource", "Condition"].contains(&element.as_str());
        assert!(known, "an element that the evaluator does not know: {element}");
    }
    let named = |name: &str, asked: &str| {
        items(&statement[name])
            .iter()
            .any(|pattern| matches(&text_of(pattern), asked))
    };
    let action = || {
        items(&statement["Action"]).iter().any(|pattern| {
            // Names of actions have no case.
            matches(&text_of(pattern).to_lowercase(), &call.action.to_lowercase())
        })
    };
    principal.is_none_or(|caller| names_principal(&statement["Principal"], caller))
        && action()
        && named("Resource", &call.resource)
        && object(&statement["Condition"]).iter().all(|(operator, keys)| {
            object(keys)
                .iter()
                .all(|(key, wanted)| holds(operator, key, wanted, call))
        })
}

fn names_principal(principal: &Value, caller: &str) -> bool {
    match principal {
        Value::String(all) => all == "*",
        kinds => object(kinds)
            .values()
            .any(|names| items(names).iter().any(|name| *name == "*" || *name == caller)),
    }
}

/// Whether one key of a condition holds.
fn holds(operator: &str, key: &str, wanted: &Value, call: &Call) -> bool {
    const KNOWN: [&str; 5] = [
        "dynamodb:attributes",
        "aws:sourcearn",
        "aws:securetransport",
        "lambda:sourcefunctionarn",
        "aws:sourceaccount",
    ];
    let key = key.to_lowercase();
    assert!(
        KNOWN.contains(&key.as_str()),
        "a condition key that the evaluator does not know: {key}"
    );
    let given = call.context.get(key.as_str());
    let is_wanted = |value: &String| {
        items(wanted)
            .iter()
            .any(|pattern| matches(&text_of(pattern), value))
    };
    match operator {
        // It holds also for a call without the key.
        "ForAllValues:StringEquals" => given.is_none_or(|values| values.iter().all(is_wanted)),
        "StringEquals" | "ArnEquals" | "ArnLike" | "Bool" => {
            given.is_some_and(|values| values.iter().any(is_wanted))
        }
        other => panic!("a condition operator that the evaluator does not know: {other}"),
    }
}

/// Whether a text has the form of a pattern, in which `*` stands for any text and `?` for one character.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == text;
    }
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    loop {
        let rest = text.clone();
        match pattern.next() {
            None => return text.next().is_none(),
            Some('*') => {
                let pattern = pattern.as_str();
                let rest = rest.as_str();
                return (0..=rest.len())
                    .filter(|at| rest.is_char_boundary(*at))
                    .any(|at| matches(pattern, &rest[at..]));
            }
            Some('?') if text.next().is_some() => {}
            Some(expected) if text.next() == Some(expected) => {}
            Some(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(action: &str, resource: &str, context: &[(&'static str, &[&str])]) -> Call {
        let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        Call {
            action: action.to_owned(),
            resource: resource.to_owned(),
            context: context.iter().map(|(key, found)| (*key, values(found))).collect(),
        }
    }

    #[test]
    fn deny_wins_and_nothing_is_allowed_by_default() {
        let allow = json!({ "Effect": "Allow", "Action": "s3:Get*", "Resource": "arn:aws:s3:::a/*" });
        let deny = json!({ "Effect": "Deny", "Action": "s3:*", "Resource": "*",
            "Condition": { "Bool": { "aws:SecureTransport": "false" } } });
        let asked = call("s3:GetObject", "arn:aws:s3:::a/b", &[]);
        assert_eq!(decide([&allow, &deny], None, &asked), Decision::Allowed);
        assert_eq!(decide([&deny], None, &asked), Decision::NotAllowed);
        let plain = call(
            "s3:GetObject",
            "arn:aws:s3:::a/b",
            &[("aws:securetransport", &["false"])],
        );
        assert_eq!(decide([&allow, &deny], None, &plain), Decision::Denied);
        assert_eq!(
            decide([&allow], None, &call("s3:PutObject", "arn:aws:s3:::a/b", &[])),
            Decision::NotAllowed
        );
    }

    #[test]
    fn every_attribute_of_a_call_must_be_listed() {
        let statement = json!({ "Effect": "Allow", "Action": "dynamodb:UpdateItem", "Resource": "t",
            "Condition": { "ForAllValues:StringEquals": { "dynamodb:Attributes": ["a", "b"] } } });
        let with = |names: &[&str]| {
            decide(
                [&statement],
                None,
                &call("dynamodb:UpdateItem", "t", &[("dynamodb:attributes", names)]),
            )
        };
        assert_eq!(with(&["a", "b"]), Decision::Allowed);
        assert_eq!(with(&["a", "c"]), Decision::NotAllowed);
    }

    #[test]
    fn a_principal_must_be_named() {
        let statement = json!({ "Effect": "Allow", "Action": "s3:GetObject", "Resource": "*",
            "Principal": { "Service": "cloudfront.amazonaws.com" } });
        let asked = call("s3:GetObject", "x", &[]);
        assert_eq!(
            decide([&statement], Some("cloudfront.amazonaws.com"), &asked),
            Decision::Allowed
        );
        assert_eq!(
            decide([&statement], Some("lambda.amazonaws.com"), &asked),
            Decision::NotAllowed
        );
    }
}
