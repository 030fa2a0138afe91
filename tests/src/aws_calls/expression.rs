//! The attributes that a request of DynamoDB names, as IAM's condition key `dynamodb:Attributes` counts them: the top-level
//! attributes of the key and of every expression
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html>).

use std::{collections::BTreeSet, sync::LazyLock};

use regex_lite::Regex;
use serde_json::Value;

const EXPRESSIONS: [&str; 3] = ["UpdateExpression", "ConditionExpression", "ProjectionExpression"];
/// The words of an expression that are no attributes. The names of functions are told by their parenthesis.
const KEYWORDS: [&str; 9] = [
    "SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "IN", "BETWEEN",
];

/// A name, with the character before it, by which a value (`:name`) and a nested attribute (`.name`) differ from a top-level
/// attribute, and with the parenthesis of a function.
static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([:.]?)(#?[A-Za-z_][A-Za-z0-9_]*)(\s*\()?").expect("a valid pattern"));

/// The top-level attributes that an update names.
pub(super) fn named_attributes(update: &Value) -> BTreeSet<String> {
    let names = &update["ExpressionAttributeNames"];
    let expressions = EXPRESSIONS.iter().filter_map(|name| update[*name].as_str());
    let in_expressions = expressions
        .flat_map(top_level_names)
        .map(|name| match names[name].as_str() {
            Some(resolved) => resolved.to_owned(),
            None => name.to_owned(),
        });
    let in_key = update["Key"]
        .as_object()
        .into_iter()
        .flat_map(|key| key.keys().cloned());
    in_key.chain(in_expressions).collect()
}

fn top_level_names(expression: &str) -> impl Iterator<Item = &str> {
    NAME.captures_iter(expression).filter_map(|found| {
        let name = found.get(2)?.as_str();
        let is_keyword = KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(name));
        let is_attribute = found[1].is_empty() && found.get(3).is_none();
        (is_attribute && !is_keyword).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_keys_and_expressions_are_resolved() {
        let update = json!({
            "Key": { "queue": { "S": "a" }, "part": { "S": "line" } },
            "UpdateExpression": "SET #fence = :fence, plain = if_not_exists (other, :epoch) ADD #map.#nested :one",
            "ConditionExpression": "#epoch = :epoch AND (attribute_not_exists(#fence) OR NOT #fence in (:a, :b))",
            "ExpressionAttributeNames": {
                "#fence": "fence", "#epoch": "epoch", "#map": "map", "#nested": "nested",
            },
        });
        let expected = ["epoch", "fence", "map", "other", "part", "plain", "queue"];
        assert_eq!(named_attributes(&update), expected.map(str::to_owned).into());
    }
}
