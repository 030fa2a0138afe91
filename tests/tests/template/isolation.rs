//! A rush on one route leaves the others their requests and executions, and no log or trace identifies a visitor.

use regex_lite::Regex;
use serde_json::{Value, json};
use vestibule_tests::template::{method_settings_path, read_template, read_text};

/// A route with a limit of its own: the method, the resource, the prefix of its parameters.
const ROUTES: [(&str, &str, &str); 8] = [
    ("GET", "/queues/{queue}", "Document"),
    ("HEAD", "/queues/{queue}", "Document"),
    ("GET", "/.well-known/jwks.json", "Document"),
    ("HEAD", "/.well-known/jwks.json", "Document"),
    ("HEAD", "/", "Document"),
    ("POST", "/queues/{queue}/entries", "Enter"),
    ("POST", "/queues/{queue}/entries/{token}/claim", "Claim"),
    ("POST", "/queues/{queue}/entries/{token}/validate", "Validate"),
];
/// The executions that Lambda requires an account to leave unreserved.
const UNRESERVED_MIN: u64 = 100;

#[test]
fn crowded_routes_have_their_own_limit_at_the_gateway() {
    let template = read_template();
    let settings = &template["Resources"]["Api"]["Properties"]["MethodSettings"];
    let settings = settings.as_array().expect("method settings");
    for (method, resource, prefix) in ROUTES {
        let path = method_settings_path(resource);
        let own: Vec<_> = settings
            .iter()
            .filter(|setting| setting["ResourcePath"] == path && setting["HttpMethod"] == method)
            .collect();
        let [own] = own.as_slice() else {
            panic!("{method} {resource} has {} settings", own.len());
        };
        let limit = given_or_by_size(&format!("{prefix}ThrottleRate"));
        assert_eq!(own["ThrottlingRateLimit"], limit, "{resource}");
        assert_eq!(own["ThrottlingBurstLimit"], limit, "{resource}");
    }
}

#[test]
fn functions_of_crowded_routes_have_reserved_executions() {
    let template = read_template();
    for (function, condition, parameter) in [
        ("Document", "DocumentIsReserved", "DocumentConcurrency"),
        ("Enter", "EnterIsReserved", "EnterConcurrency"),
        ("Claim", "ClaimIsReserved", "ClaimConcurrency"),
        ("Status", "StatusIsReserved", "StatusConcurrency"),
        ("Validate", "ValidateIsReserved", "ValidateConcurrency"),
        ("Authorizer", "AuthorizerIsReserved", "AuthorizerConcurrency"),
        ("Promoter", "PromoterIsReserved", "PromoterConcurrency"),
        ("Admin", "OperatorsAreReserved", "OperatorConcurrency"),
        ("Widget", "OperatorsAreReserved", "OperatorConcurrency"),
    ] {
        let properties = &template["Resources"][format!("{function}Function")]["Properties"];
        assert_eq!(
            properties["ReservedConcurrentExecutions"],
            json!({ "Fn::If": [condition, given_or_by_size(parameter), { "Ref": "AWS::NoValue" }] }),
            "{function}"
        );
    }
}

/// A flood of another route would take the executions of those who enter and claim, whatever the limit of their own route.
#[test]
fn no_open_route_shares_the_function_of_entering_or_claiming() {
    let api = read_text("infra/openapi.yaml");
    for (function, route) in [
        ("EnterFunction", "/queues/{queue}/entries post"),
        ("ClaimFunction", "/queues/{queue}/entries/{token}/claim post"),
    ] {
        assert_eq!(routes_of(&api, function), [route], "{function}");
    }
}

/// The routes that a function serves, as `path method`.
fn routes_of(api: &str, function: &str) -> Vec<String> {
    let (mut path, mut method, mut routes) = ("", "", Vec::new());
    for line in api.lines() {
        let key = line.trim().trim_end_matches(':');
        match line.len() - line.trim_start().len() {
            2 if key.starts_with('/') => path = key,
            4 if line.ends_with(':') => method = key,
            _ if line.contains(&format!("${{{function}.Arn}}")) => routes.push(format!("{path} {method}")),
            _ => {}
        }
    }
    routes
}

/// `CloudFormation` compares texts, so `00` would be a reservation of no execution, and stop the function.
#[test]
fn a_number_by_size_has_one_form() {
    let template = read_template();
    let parameters = template["Parameters"].as_object().expect("parameters");
    let patterns = parameters
        .iter()
        .filter(|(_, parameter)| parameter["Default"] == "by size")
        .filter_map(|(name, parameter)| Some((name, parameter["AllowedPattern"].as_str()?)));
    for (name, pattern) in patterns {
        let pattern = Regex::new(pattern).expect("a pattern");
        for (value, is_taken) in [
            ("by size", true),
            ("7", true),
            ("53", true),
            ("00", false),
            ("-1", false),
            ("", false),
        ] {
            assert_eq!(pattern.is_match(value), is_taken, "{name}: '{value}'");
        }
    }
}

#[test]
fn guide_names_the_executions_that_a_sale_needs() {
    let template = read_template();
    let sale = template["Mappings"]["Sizes"]["sale"]
        .as_object()
        .expect("numbers");
    let reserved: u64 = sale
        .iter()
        // The authorizer has executions of its own only if it guards a queue.
        .filter(|(name, _)| name.ends_with("Concurrency") && *name != "AuthorizerConcurrency")
        .map(|(name, number)| {
            let number: u64 = number.as_str().expect("a text").parse().expect("a number");
            // One parameter is for two functions.
            if name == "OperatorConcurrency" {
                2 * number
            } else {
                number
            }
        })
        .sum();
    let guide = read_text("docs/deploying.md");
    assert!(
        guide.contains(&format!("A sale reserves {reserved} of them")),
        "{reserved}"
    );
    assert!(guide.contains(&format!("a quota of {}", reserved + UNRESERVED_MIN)));
}

#[test]
fn platform_writes_only_warnings_in_json() {
    let template = read_template();
    for (name, function) in functions(&template) {
        let logging = &function["Properties"]["LoggingConfig"];
        assert_eq!(logging["LogFormat"], "JSON", "{name}");
        assert_eq!(logging["SystemLogLevel"], "WARN", "{name}");
    }
}

/// Segments of API Gateway contain the client's address.
#[test]
fn no_trace_is_written_unless_asked_for() {
    let template = read_template();
    assert_eq!(template["Parameters"]["Tracing"]["Default"], "off");
    assert_eq!(
        template["Globals"]["Function"]["Tracing"],
        json!({ "Fn::If": ["Traces", "Active", "PassThrough"] })
    );
    assert_eq!(
        template["Resources"]["Api"]["Properties"]["TracingEnabled"],
        json!({ "Fn::If": ["Traces", true, false] })
    );
    for (name, function) in functions(&template) {
        assert!(function["Properties"]["Tracing"].is_null(), "{name}");
    }
    let statements = &template["Resources"]["RunPolicy"]["Properties"]["PolicyDocument"]["Statement"];
    let write_traces = statements
        .as_array()
        .expect("statements")
        .iter()
        .find(|statement| statement.to_string().contains("xray:"))
        .expect("a statement on traces");
    assert_eq!(write_traces["Fn::If"][0], "Traces");
}

fn functions(template: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let resources = template["Resources"].as_object().expect("resources");
    resources
        .iter()
        .filter(|(_, resource)| resource["Type"] == "AWS::Serverless::Function")
}

/// The value of a parameter, or what the size says for it.
fn given_or_by_size(parameter: &str) -> Value {
    json!({ "Fn::If": [
        format!("Gives{parameter}"),
        { "Ref": parameter },
        { "Fn::FindInMap": ["Sizes", { "Ref": "Size" }, parameter] },
    ] })
}
