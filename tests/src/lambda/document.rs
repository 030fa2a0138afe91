//! Reads `infra/openapi.yaml` as API Gateway does: the routes, their guards, and the gateway responses.

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::Value;

use super::gateway::{Guard, Route};
use crate::template;

/// The values that the conditions of the template have in a deployment.
pub type Conditions = BTreeMap<&'static str, bool>;

/// The API document with every condition resolved.
#[derive(Debug, Clone)]
pub struct Document(Value);

/// The answer that the gateway gives without a function in one case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GatewayResponse {
    pub(super) status: u16,
    /// The headers by name. A value in single quotes is literal; another value names a variable of the gateway.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) template: String,
}

impl Document {
    /// Reads the document of this repository.
    pub fn read(conditions: &Conditions) -> Self {
        let is_true = |name: &str| {
            let holds = conditions.get(name);
            *holds.unwrap_or_else(|| panic!("the deployment has no value for the condition {name}"))
        };
        let document = template::resolve_conditions(&template::read_api_document(), &is_true);
        Self(document.expect("the document is not empty"))
    }

    /// All routes of the document.
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
                    function: function_name(operation),
                    guard: self.read_guard(operation),
                });
            }
        }
        routes
    }

    fn read_guard(&self, operation: &Value) -> Guard {
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
            _ => panic!("this gateway cannot check the security scheme {name}: {scheme}"),
        }
    }

    /// The gateway response for a case such as `MISSING_AUTHENTICATION_TOKEN`. `status` applies if the document names
    /// none.
    pub(super) fn gateway_response(&self, case: &str, status: u16) -> GatewayResponse {
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
        GatewayResponse {
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

/// The function that answers an operation: `…/functions/${EnterFunction.Arn}:live/invocations` gives `enter`.
fn function_name(operation: &Value) -> String {
    let uri = operation["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"].as_str();
    let uri = uri.unwrap_or_else(|| panic!("the operation names no function: {operation}"));
    let name = uri
        .split_once("/functions/${")
        .and_then(|(_, rest)| rest.split_once("Function"));
    name.unwrap_or_else(|| panic!("{uri} names no function of the template"))
        .0
        .to_lowercase()
}
