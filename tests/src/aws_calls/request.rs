//! Reads from a request to AWS what IAM would decide about.

use std::collections::BTreeSet;

use serde_json::Value;

use super::expression::named_attributes;

/// The action by which IAM decides on an update, whose condition may name attributes.
pub(super) const UPDATE_ITEM: &str = "dynamodb:UpdateItem";
/// The path by which Lambda is asked to invoke a function: <https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html>.
const INVOKE_PATH: &str = "/2015-03-31/functions/";

/// An action of IAM on one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Action {
    /// The name, such as `dynamodb:GetItem`.
    pub(super) name: String,
    /// The name or ARN of the resource, as the request has it.
    pub(super) resource: String,
    /// The attributes that an update names.
    pub(super) attributes: BTreeSet<String>,
}

impl Action {
    fn new(name: impl Into<String>, resource: &Value) -> Self {
        Self {
            name: name.into(),
            resource: resource.as_str().unwrap_or("no resource").to_owned(),
            attributes: BTreeSet::new(),
        }
    }

    /// An action on a table. `request` names the table.
    fn on_table(operation: &str, request: &Value) -> Self {
        let action = Self::new(format!("dynamodb:{operation}"), &request["TableName"]);
        let attributes = match action.name.as_str() {
            UPDATE_ITEM => named_attributes(request),
            _ => BTreeSet::new(),
        };
        Self { attributes, ..action }
    }
}

/// The actions of a request. `target` is its header `X-Amz-Target`, which Lambda has not.
pub(super) fn read_actions(target: Option<&str>, path: &str, body: &[u8]) -> Vec<Action> {
    let Some((service, operation)) = target.and_then(|target| target.rsplit_once('.')) else {
        let function = path
            .strip_prefix(INVOKE_PATH)
            .and_then(|rest| rest.split('/').next());
        return vec![Action::new(
            "lambda:InvokeFunction",
            &function.unwrap_or(path).into(),
        )];
    };
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let on_resource = |field: &str| vec![Action::new(format!("{service}:{operation}"), &request[field])];
    match service {
        "secretsmanager" => on_resource("SecretId"),
        "AWSEvents" => items_of(&request["Entries"])
            .map(|entry| Action::new(format!("events:{operation}"), &entry["EventBusName"]))
            .collect(),
        _ if service.starts_with("DynamoDB_") => read_table_actions(operation, &request),
        _ => on_resource("no resource"),
    }
}

/// IAM decides on each write of a transaction, and on each table of a batch:
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html>.
fn read_table_actions(operation: &str, request: &Value) -> Vec<Action> {
    match operation {
        "TransactWriteItems" | "TransactGetItems" => items_of(&request["TransactItems"])
            .flat_map(|item| item.as_object().into_iter().flatten())
            .map(|(kind, part)| match kind.as_str() {
                "ConditionCheck" => Action::on_table("ConditionCheckItem", part),
                kind => Action::on_table(&format!("{kind}Item"), part),
            })
            .collect(),
        "BatchWriteItem" | "BatchGetItem" => {
            let tables = request["RequestItems"].as_object().into_iter().flatten();
            tables
                .map(|(table, _)| Action::new(format!("dynamodb:{operation}"), &table.as_str().into()))
                .collect()
        }
        _ => vec![Action::on_table(operation, request)],
    }
}

fn items_of(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(target: &str, body: &Value) -> Vec<String> {
        let actions = read_actions(Some(target), "/", body.to_string().as_bytes());
        let show = |action: Action| {
            let attributes: Vec<_> = action.attributes.into_iter().collect();
            format!("{} {} {}", action.name, action.resource, attributes.join(","))
        };
        actions.into_iter().map(show).collect()
    }

    #[test]
    fn each_write_of_a_transaction_is_an_action() {
        let transaction = json!({ "TransactItems": [
            { "Put": { "TableName": "a" } },
            { "Update": { "TableName": "b", "Key": { "id": {} }, "UpdateExpression": "SET x = :x" } },
            { "Delete": { "TableName": "a" } },
            { "ConditionCheck": { "TableName": "c" } },
        ] });
        let expected = [
            "dynamodb:PutItem a ",
            "dynamodb:UpdateItem b id,x",
            "dynamodb:DeleteItem a ",
            "dynamodb:ConditionCheckItem c ",
        ];
        assert_eq!(
            read("DynamoDB_20120810.TransactWriteItems", &transaction),
            expected
        );
    }

    #[test]
    fn each_table_of_a_batch_is_a_resource() {
        let batch = json!({ "RequestItems": { "a": [], "b": [] } });
        let expected = ["dynamodb:BatchWriteItem a ", "dynamodb:BatchWriteItem b "];
        assert_eq!(read("DynamoDB_20120810.BatchWriteItem", &batch), expected);
    }

    #[test]
    fn other_services_name_their_resource_in_other_fields() {
        let secret = json!({ "SecretId": "arn" });
        assert_eq!(
            read("secretsmanager.PutSecretValue", &secret),
            ["secretsmanager:PutSecretValue arn "]
        );
        let events = json!({ "Entries": [{ "EventBusName": "bus" }] });
        assert_eq!(read("AWSEvents.PutEvents", &events), ["events:PutEvents bus "]);
        let invoked = read_actions(None, "/2015-03-31/functions/admin/invocations", b"{}");
        assert_eq!(invoked, [Action::new("lambda:InvokeFunction", &"admin".into())]);
        let unknown = read("Kinesis_20131202.PutRecord", &json!({}));
        assert_eq!(unknown, ["Kinesis_20131202:PutRecord no resource "]);
    }
}
