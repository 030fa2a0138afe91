//! The document of the API, `infra/openapi.yaml`, as API Gateway reads it: routes, guards, and what it answers by itself.

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::{Map, Value};

use super::gateway::{Guard, Route};
use crate::template;

/// The conditions of the template that the document names, as a deployment decides them.
pub type Conditions = BTreeMap<&'static str, bool>;

/// The document with its conditions decided.
#[derive(Debug, Clone)]
pub struct Document(Value);

/// What the gateway answers by itself in one case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OwnAnswer {
    pub(super) status: u16,
    /// By name; what is in single quotes is meant as it stands.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) template: String,
}

impl Document {
    /// Reads the repository's own.
    pub fn read(conditions: &Conditions) -> Self {
        Self(decided(template::document(), conditions).expect("the document is something"))
    }

    /// Everything that is answered.
    pub fn routes(&self) -> Vec<Route> {
        let paths = self.0["paths"].as_object().expect("paths");
        let mut routes = Vec::new();
        for (resource, item) in paths {
            for (method, operation) in item.as_object().expect("an object") {
                if method == "parameters" {
                    continue;
                }
                routes.push(Route {
                    method: method.to_uppercase().parse::<Method>().expect("a method"),
                    resource: resource.clone(),
                    function: function(operation),
                    guard: self.guard(operation),
                });
            }
        }
        routes
    }

    fn guard(&self, operation: &Value) -> Guard {
        let first = operation["security"]
            .as_array()
            .and_then(|schemes| schemes.first());
        let Some(name) = first
            .and_then(Value::as_object)
            .and_then(|scheme| scheme.keys().next())
        else {
            return Guard::Open;
        };
        let scheme = &self.0["components"]["securitySchemes"][name];
        match (
            scheme["name"].as_str(),
            scheme["x-amazon-apigateway-authtype"].as_str(),
        ) {
            (Some("x-api-key"), None) => Guard::ApiKey,
            (Some("Authorization"), Some("awsSigv4")) => Guard::Iam,
            _ => panic!("{name} is nothing that this gateway checks: {scheme}"),
        }
    }

    /// What the gateway answers in a case, such as `MISSING_AUTHENTICATION_TOKEN`.
    pub(super) fn own_answer(&self, case: &str, status: u16) -> OwnAnswer {
        let answers = &self.0["x-amazon-apigateway-gateway-responses"];
        let default = if status < 500 {
            "DEFAULT_4XX"
        } else {
            "DEFAULT_5XX"
        };
        let answer = if answers[case].is_object() {
            &answers[case]
        } else {
            &answers[default]
        };
        let parameters = answer["responseParameters"].as_object();
        let headers = parameters.into_iter().flatten().filter_map(|(name, value)| {
            let name = name.strip_prefix("gatewayresponse.header.")?;
            Some((name.to_owned(), value.as_str()?.to_owned()))
        });
        OwnAnswer {
            status: answer["statusCode"]
                .as_str()
                .and_then(|own| own.parse().ok())
                .unwrap_or(status),
            headers: headers.collect(),
            template: answer["responseTemplates"]["application/json"]
                .as_str()
                .unwrap_or(r#"{"message":$context.error.messageString}"#)
                .to_owned(),
        }
    }
}

/// The function that answers: `…/functions/${EnterFunction.Arn}:live/invocations` is `enter`.
fn function(operation: &Value) -> String {
    let uri = operation["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"].as_str();
    let uri = uri.unwrap_or_else(|| panic!("nothing answers {operation}"));
    let name = uri
        .split_once("/functions/${")
        .and_then(|(_, rest)| rest.split_once("Function"));
    name.unwrap_or_else(|| panic!("{uri} is of no function of ours"))
        .0
        .to_lowercase()
}

/// The value with each `Fn::If` decided; `None` where it is none.
fn decided(value: Value, conditions: &Conditions) -> Option<Value> {
    match value {
        Value::Object(map) if map.len() == 1 && map.contains_key("Fn::If") => {
            let choice = map["Fn::If"].as_array().expect("condition, then, else");
            let name = choice[0].as_str().expect("a condition");
            let holds = conditions
                .get(name)
                .unwrap_or_else(|| panic!("nobody decided {name}"));
            decided(choice[if *holds { 1 } else { 2 }].clone(), conditions)
        }
        Value::Object(map) if map.get("Ref").is_some_and(|name| name == "AWS::NoValue") => None,
        Value::Object(map) => {
            let kept = map
                .into_iter()
                .filter_map(|(name, value)| Some((name, decided(value, conditions)?)));
            Some(Value::Object(kept.collect::<Map<_, _>>()))
        }
        Value::Array(list) => Some(
            list.into_iter()
                .filter_map(|value| decided(value, conditions))
                .collect(),
        ),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_chooses_and_what_is_no_value_is_left_out() {
        let value = json!({ "a": [{ "Fn::If": ["Yes", 1, 2] }, { "Fn::If": ["No", 3, { "Ref": "AWS::NoValue" }] }],
            "b": { "Fn::If": ["No", 1, { "Fn::If": ["Yes", { "c": 4 }, 5] }] } });
        let conditions = [("Yes", true), ("No", false)].into();
        assert_eq!(
            decided(value, &conditions),
            Some(json!({ "a": [1], "b": { "c": 4 } }))
        );
    }
}
