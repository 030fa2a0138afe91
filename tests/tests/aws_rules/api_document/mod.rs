//! Whether API Gateway imports the API document whole, and whether all that the document names exists.
//!
//! A keyword that API Gateway does not support ends the import if it is in a model, and with it the deployment:
//! `Invalid model schema specified. Unsupported keyword(s): ["example"]`
//! (<https://github.com/awslabs/aws-api-gateway-developer-portal/issues/571>). Elsewhere the import ignores it.
//! [`supported`] has AWS's list.

mod faults;
mod supported;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vestibule_tests::template::{
    for_each_named, method_settings_path, read_api_document, read_template, resolve_conditions,
};

use self::supported::{
    BODY, COMPONENTS, CONTEXT, FORMATS, GATEWAY_RESPONSES, INTEGRATION, METHODS, MODEL, OPERATION, PARAMETER,
    RESPONSES, ROOT, SCHEME, TYPES, VALIDATOR, VALIDATORS,
};

/// What is wrong with the API document, for every way in which the template's conditions can decide. The functions,
/// parameters, conditions and settings of routes are those of the template.
pub(crate) fn findings(document: &Value, template: &Value) -> Vec<String> {
    let mut conditions = BTreeSet::new();
    for_each_named(document, "Fn::If", &mut |choice| {
        conditions.extend(choice[0].as_str());
    });
    let mut found = find_unknown_settings(document, template);
    for condition in &conditions {
        if template["Conditions"].get(condition).is_none() {
            found.insert(format!("the template has no condition {condition}"));
        }
    }
    let functions = live_functions(template);
    // Each branch is taken with no condition true, one alone, or all of them.
    let one = conditions.iter().map(|condition| BTreeSet::from([*condition]));
    for holds in one.chain([BTreeSet::new(), conditions.clone()]) {
        let resolved = resolve_conditions(document, &|name| holds.contains(name)).unwrap_or_default();
        let mut check = Check {
            document: &resolved,
            template,
            functions: &functions,
            found: &mut found,
        };
        check.check_document();
    }
    found.into_iter().collect()
}

/// The functions that have an alias `live`.
fn live_functions(template: &Value) -> BTreeSet<&str> {
    fields(&template["Resources"])
        .filter(|(_, resource)| {
            resource["Type"] == "AWS::Lambda::Alias" && resource["Properties"]["Name"] == "live"
        })
        .filter_map(|(_, alias)| alias["Properties"]["FunctionName"]["Ref"].as_str())
        .collect()
}

/// Settings of a single method are for a route of the document.
fn find_unknown_settings(document: &Value, template: &Value) -> BTreeSet<String> {
    let routes: BTreeSet<_> = fields(&document["paths"])
        .flat_map(|(path, item)| {
            fields(item).map(move |(method, _)| (method_settings_path(path), method.to_uppercase()))
        })
        .collect();
    let mut found = BTreeSet::new();
    for_each_named(template, "MethodSettings", &mut |settings| {
        for setting in settings.as_array().into_iter().flatten() {
            let text = |name: &str| setting[name].as_str().unwrap_or_default().to_owned();
            let (path, method) = (text("ResourcePath"), text("HttpMethod"));
            if method != "*" && !routes.contains(&(path.clone(), method.clone())) {
                found.insert(format!(
                    "a method setting is for {method} {path}, which is no route"
                ));
            }
        }
    });
    found
}

/// The check of a document whose conditions are resolved.
struct Check<'a> {
    document: &'a Value,
    template: &'a Value,
    functions: &'a BTreeSet<&'a str>,
    found: &'a mut BTreeSet<String>,
}

impl Check<'_> {
    fn check_document(&mut self) {
        let document = self.document;
        self.allow_only("the document", document, ROOT);
        self.check_validator("the document", &document[VALIDATOR]);
        for (path, item) in fields(&document["paths"]) {
            self.check_path(path, item);
        }
        let components = &document["components"];
        self.allow_only("components", components, COMPONENTS);
        for (name, parameter) in fields(&components["parameters"]) {
            self.check_parameter(&format!("the parameter {name}"), parameter);
        }
        for (name, model) in fields(&components["schemas"]) {
            let is_alphanumeric = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            self.require(is_alphanumeric, || {
                format!("the name of the model {name} has other characters than letters and digits")
            });
            self.check_model(&format!("the model {name}"), model);
        }
        for (name, scheme) in fields(&components["securitySchemes"]) {
            self.check_scheme(&format!("the security scheme {name}"), scheme);
        }
        for (kind, response) in fields(&document[RESPONSES]) {
            self.check_gateway_response(kind, response);
        }
        self.check_names();
    }

    fn require(&mut self, holds: bool, finding: impl FnOnce() -> String) {
        if !holds {
            self.found.insert(finding());
        }
    }

    fn allow_only(&mut self, place: &str, value: &Value, names: &[&str]) {
        for (name, _) in fields(value) {
            self.require(names.contains(&name.as_str()), || {
                format!("{place} has `{name}`, which API Gateway refuses or ignores")
            });
        }
    }

    fn check_path(&mut self, path: &str, item: &Value) {
        self.require(is_path(path), || {
            format!("API Gateway does not support the path {path}")
        });
        self.require(!["/ping", "/sping"].contains(&path), || {
            format!("API Gateway reserves the path {path}")
        });
        for (name, operation) in fields(item) {
            if name == "parameters" {
                self.check_parameters(path, operation);
            } else if METHODS.contains(&name.as_str()) {
                self.check_operation(&format!("{name} {path}"), operation);
            } else {
                self.found
                    .insert(format!("{path} has `{name}`, which is no method"));
            }
        }
    }

    fn check_operation(&mut self, place: &str, operation: &Value) {
        self.allow_only(place, operation, OPERATION);
        self.check_parameters(place, &operation["parameters"]);
        let requirements = operation["security"].as_array();
        self.require(requirements.is_some(), || {
            format!("{place} has no security of its own, and API Gateway ignores that of the root")
        });
        for (scheme, _) in requirements.into_iter().flatten().flat_map(fields) {
            let schemes = &self.document["components"]["securitySchemes"];
            self.require(schemes.get(scheme).is_some(), || {
                format!("{place} requires the security scheme {scheme}, which does not exist")
            });
        }
        self.check_body(place, operation);
        self.check_integration(place, &operation[INTEGRATION]);
    }

    fn check_parameters(&mut self, place: &str, parameters: &Value) {
        for parameter in parameters.as_array().into_iter().flatten() {
            if parameter.get("$ref").is_some() {
                self.check_reference(place, parameter, "parameters");
            } else {
                self.check_parameter(&format!("a parameter of {place}"), parameter);
            }
        }
    }

    fn check_parameter(&mut self, place: &str, parameter: &Value) {
        self.allow_only(place, parameter, PARAMETER);
        self.allow_only(place, &parameter["schema"], &["type"]);
        self.require(
            ["path", "query", "header"]
                .map(Value::from)
                .contains(&parameter["in"]),
            || format!("{place} is in {}", parameter["in"]),
        );
    }

    /// A reference is to a component of this document.
    fn check_reference(&mut self, place: &str, value: &Value, component: &str) {
        let reference = value["$ref"].as_str().unwrap_or_default();
        let name = reference.strip_prefix(&format!("#/components/{component}/"));
        let exists = name.is_some_and(|name| self.document["components"][component].get(name).is_some());
        self.require(exists, || {
            format!("{place} refers to {reference}, which is none of the document's {component}")
        });
    }

    fn check_validator(&mut self, place: &str, validator: &Value) {
        let exists = validator
            .as_str()
            .is_some_and(|name| self.document[VALIDATORS].get(name).is_some());
        self.require(exists || validator.is_null(), || {
            format!("{place} has the validator {validator}, which does not exist")
        });
    }

    /// A model serves a validator of bodies only.
    fn check_body(&mut self, place: &str, operation: &Value) {
        let own = &operation[VALIDATOR];
        self.check_validator(place, own);
        let validator = if own.is_null() {
            &self.document[VALIDATOR]
        } else {
            own
        };
        let validates = validator
            .as_str()
            .is_some_and(|name| self.document[VALIDATORS][name]["validateRequestBody"] == true);
        let body = &operation["requestBody"];
        self.require(validates || body.is_null(), || {
            format!("{place} has a body that no validator checks")
        });
        self.require(!validates || !body.is_null(), || {
            format!("{place} validates a body, and describes none")
        });
        self.allow_only(place, body, BODY);
        for (_, content) in fields(&body["content"]) {
            self.allow_only(place, content, &["schema"]);
            self.check_reference(place, &content["schema"], "schemas");
        }
    }

    fn check_model(&mut self, place: &str, model: &Value) {
        self.allow_only(place, model, MODEL);
        if model.get("$ref").is_some() {
            self.check_reference(place, model, "schemas");
        }
        for (keyword, values) in [("type", TYPES), ("format", FORMATS)] {
            let value = &model[keyword];
            let is_known = value.as_str().is_some_and(|value| values.contains(&value));
            self.require(is_known || value.is_null(), || {
                format!("{place} has the {keyword} {value}, which draft 4 does not have")
            });
        }
        for properties in ["properties", "patternProperties"] {
            for (name, property) in fields(&model[properties]) {
                self.check_model(&format!("{place}.{name}"), property);
            }
        }
        for name in ["items", "additionalProperties", "not"] {
            if model[name].is_object() {
                self.check_model(&format!("{place}.{name}"), &model[name]);
            }
        }
    }

    /// <https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-swagger-extensions-authtype.html>
    fn check_scheme(&mut self, place: &str, scheme: &Value) {
        self.allow_only(place, scheme, SCHEME);
        self.require(scheme["type"] == "apiKey" && scheme["in"] == "header", || {
            format!("{place} is no API key in a header")
        });
        let authorizer = &scheme["x-amazon-apigateway-authorizer"]["type"];
        let is_whole = match scheme["x-amazon-apigateway-authtype"].as_str() {
            None => scheme["name"] == "x-api-key" && authorizer.is_null(),
            Some("awsSigv4") => scheme["name"] == "Authorization" && authorizer.is_null(),
            Some("custom") => authorizer == "token" || authorizer == "request",
            Some("cognito_user_pools") => authorizer == "cognito_user_pools",
            Some(_) => false,
        };
        self.require(is_whole, || {
            format!("{place} is no key, no signature and no authorizer: {scheme}")
        });
    }

    /// An integration invokes the alias `live` of a function.
    fn check_integration(&mut self, place: &str, integration: &Value) {
        self.allow_only(place, integration, &["type", "httpMethod", "uri"]);
        // API Gateway invokes functions by POST, whatever the method of the route.
        self.require(
            integration["type"] == "aws_proxy" && integration["httpMethod"] == "POST",
            || format!("{place} is no proxy for a function"),
        );
        let uri = integration["uri"]["Fn::Sub"].as_str().unwrap_or_default();
        let function = uri
            .strip_prefix(
                "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${",
            )
            .and_then(|rest| rest.strip_suffix(".Arn}:live/invocations"));
        let has_alias = function.is_some_and(|function| self.functions.contains(function));
        self.require(has_alias, || {
            format!("{place} invokes {uri}, which is no alias `live` of the template")
        });
    }

    fn check_gateway_response(&mut self, kind: &str, response: &Value) {
        let place = format!("the gateway response {kind}");
        self.require(GATEWAY_RESPONSES.contains(&kind), || {
            format!("{place} has no type that API Gateway lets an API define")
        });
        self.allow_only(
            &place,
            response,
            &["statusCode", "responseParameters", "responseTemplates"],
        );
        let status = response["statusCode"]
            .as_str()
            .and_then(|status| status.parse::<u16>().ok());
        self.require(status.is_some_and(|status| (400..600).contains(&status)), || {
            format!("{place} has no status of an error")
        });
        for (header, value) in fields(&response["responseParameters"]) {
            let is_header = header
                .strip_prefix("gatewayresponse.header.")
                .is_some_and(|name| !name.is_empty());
            let expression = value.as_str().unwrap_or_default();
            self.require(is_header && is_mapping(expression), || {
                format!("{place} maps {value} to {header}, which is no mapping")
            });
        }
        // These templates are not run by Velocity, and insert variables only.
        for (_, template) in fields(&response["responseTemplates"]) {
            for rest in template.as_str().unwrap_or_default().split('$').skip(1) {
                let variable = word(rest, '.').trim_end_matches('.');
                let is_known = variable
                    .strip_prefix("context.")
                    .is_some_and(|name| CONTEXT.contains(&name));
                self.require(is_known, || {
                    format!("{place} inserts ${variable}, which does not exist")
                });
            }
        }
    }

    /// Each intrinsic names a parameter, a resource or a pseudo parameter.
    fn check_names(&mut self) {
        let mut names = BTreeSet::new();
        for_each_named(self.document, "Ref", &mut |name| {
            names.extend(name.as_str().map(str::to_owned));
        });
        for_each_named(self.document, "Fn::Sub", &mut |text| {
            let text = text.as_str().unwrap_or_default();
            let variables = text.split("${").skip(1);
            names.extend(variables.map(|rest| word(rest, ':').to_owned()));
        });
        for name in names {
            let is_known = ["Parameters", "Resources"]
                .iter()
                .any(|part| self.template[part].get(&name).is_some());
            self.require(is_known || name.starts_with("AWS::"), || {
                format!("the template has no {name}")
            });
        }
    }
}

/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/rest-api-parameter-mapping.html>
fn is_mapping(expression: &str) -> bool {
    let is_literal = expression.len() > 1 && expression.starts_with('\'') && expression.ends_with('\'');
    let is_variable = expression
        .strip_prefix("context.")
        .is_some_and(|name| CONTEXT.contains(&name));
    let parameter = expression
        .strip_prefix("method.request.")
        .and_then(|parameter| parameter.split_once('.'));
    let is_parameter = parameter
        .is_some_and(|(place, name)| ["path", "querystring", "header"].contains(&place) && !name.is_empty());
    is_literal || is_variable || is_parameter
}

/// Whether each segment of a path is a name, or one parameter.
fn is_path(path: &str) -> bool {
    let is_name = |name: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.,:-".contains(c);
        !name.is_empty() && name.chars().all(is_allowed)
    };
    let is_segment = |segment: &str| {
        let parameter = segment.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        is_name(parameter.map_or(segment, |name| name.trim_end_matches('+')))
    };
    let segments = path.strip_prefix('/');
    path == "/" || segments.is_some_and(|segments| segments.split('/').all(is_segment))
}

/// The letters and digits at the beginning of a text, joined by `joint`.
fn word(text: &str, joint: char) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != joint);
    &text[..end.unwrap_or(text.len())]
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

#[test]
fn api_gateway_imports_the_whole_document() {
    assert_eq!(findings(&read_api_document(), &read_template()), [""; 0]);
}

/// A property may have the name of a keyword.
#[test]
fn a_property_with_the_name_of_a_keyword_is_allowed() {
    let mut document = read_api_document();
    let properties = &mut document["components"]["schemas"]["LoadReport"]["properties"];
    properties["example"] = json!({ "type": "string", "enum": ["default", "nullable"] });
    assert_eq!(findings(&document, &read_template()), [""; 0]);
}
