//! A rush on one route leaves the others their requests and executions, and no log or trace identifies a visitor.

use serde_json::{Value, json};
use vestibule_tests::template::{method_settings_path, read_template, read_text};

/// A route with a limit of its own: the method, the resource, the prefix of its parameters.
const ROUTES: [(&str, &str, &str); 5] = [
    ("GET", "/queues/{queue}", "Document"),
    ("GET", "/.well-known/jwks.json", "Document"),
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
        let parameter = format!("{prefix}ThrottleRate");
        assert_eq!(own["ThrottlingRateLimit"]["Ref"], *parameter, "{resource}");
        assert_eq!(own["ThrottlingBurstLimit"]["Ref"], *parameter, "{resource}");
    }
}

#[test]
fn functions_of_crowded_routes_have_reserved_executions() {
    let template = read_template();
    for function in [
        "Document",
        "Enter",
        "Claim",
        "Status",
        "Validate",
        "Authorizer",
        "Promoter",
    ] {
        let properties = &template["Resources"][format!("{function}Function")]["Properties"];
        assert_eq!(
            properties["ReservedConcurrentExecutions"],
            json!({ "Fn::If": [
                format!("{function}IsReserved"),
                { "Ref": format!("{function}Concurrency") },
                { "Ref": "AWS::NoValue" },
            ] }),
            "{function}"
        );
    }
}

/// Lambda serves ten requests per second for each concurrent execution, and answers the rest with an error that
/// carries no `Retry-After`. The gateway's answer carries one.
#[test]
fn gateway_refuses_before_lambda_does() {
    let template = read_template();
    for (_, _, prefix) in ROUTES {
        let rate = default_number(&template, &format!("{prefix}ThrottleRate"));
        let executions = default_number(&template, &format!("{prefix}Concurrency"));
        assert_eq!(rate, 10 * executions, "{prefix}");
    }
}

#[test]
fn guide_names_the_executions_that_the_defaults_need() {
    let template = read_template();
    let parameters = template["Parameters"].as_object().expect("parameters");
    let reserved: u64 = parameters
        .keys()
        .filter(|name| name.ends_with("Concurrency"))
        .map(|name| default_number(&template, name))
        .sum();
    let guide = read_text("docs/deploying.md");
    assert!(
        guide.contains(&format!("The template reserves {reserved} of them")),
        "{reserved}"
    );
    assert!(guide.contains(&format!("With fewer than {}", reserved + UNRESERVED_MIN)));
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

fn default_number(template: &Value, parameter: &str) -> u64 {
    template["Parameters"][parameter]["Default"]
        .as_u64()
        .unwrap_or_else(|| panic!("{parameter} has no number as its default"))
}
