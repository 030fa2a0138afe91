//! A document with a fault, for each rule.

use serde_json::{Value, json};
use vestibule_tests::template::{read_api_document, read_template};

use super::findings;

const MODEL: &str = "/components/schemas/LoadReport";
const FIELD: &str = "/components/schemas/LoadReport/properties/tps";
const SCHEMES: &str = "/components/securitySchemes";
const QUEUE: &str = "/components/parameters/Queue";
const VIEW: &str = "/paths/~1queues~1{queue}/get";
const INTEGRATION: &str = "/paths/~1queues~1{queue}/get/x-amazon-apigateway-integration";
const LOAD: &str = "/paths/~1queues~1{queue}~1load/post";
const RESPONSES: &str = "/x-amazon-apigateway-gateway-responses";
const BUSY: &str = "/x-amazon-apigateway-gateway-responses/THROTTLED";
const VALIDATOR: &str = "x-amazon-apigateway-request-validator";

/// A change of the document: a place, the name of a field, its value. Then a part of what is found.
type Fault = (&'static str, &'static str, Value, &'static str);

#[test]
fn keywords_that_the_import_does_not_support_are_found() {
    assert_found([
        (FIELD, "example", json!(3), "`example`"),
        (FIELD, "nullable", json!(true), "`nullable`"),
        (FIELD, "exclusiveMinimum", json!(true), "`exclusiveMinimum`"),
        (FIELD, "default", json!(1), "`default`"),
        (FIELD, "readOnly", json!(true), "`readOnly`"),
        (FIELD, "const", json!(1), "`const`"),
        (FIELD, "format", json!("int64"), "the format \"int64\""),
        (
            FIELD,
            "type",
            json!(["integer", "null"]),
            "the type [\"integer\",\"null\"]",
        ),
        (
            FIELD,
            "items",
            json!({ "type": "string", "example": "a" }),
            "tps.items has `example`",
        ),
        (MODEL, "oneOf", json!([]), "`oneOf`"),
        (MODEL, "discriminator", json!({}), "`discriminator`"),
        (
            MODEL,
            "additionalProperties",
            json!({ "nullable": true }),
            "additionalProperties has `nullable`",
        ),
        ("/components/schemas", "Load_Report", json!({}), "Load_Report"),
        (QUEUE, "example", json!("a"), "`example`"),
        (QUEUE, "in", json!("cookie"), "is in \"cookie\""),
        (
            "/components/parameters/Wait/schema",
            "default",
            json!(0),
            "`default`",
        ),
        (VIEW, "deprecated", json!(true), "`deprecated`"),
        (
            VIEW,
            "responses",
            json!({ "200": { "$ref": "#/components/responses/Page" } }),
            "`responses`",
        ),
        ("/components", "responses", json!({}), "`responses`"),
        ("", "security", json!([{ "visitor": [] }]), "`security`"),
        (VIEW, "security", Value::Null, "no security of its own"),
        (
            "/paths",
            "/queues/a{queue}",
            json!({}),
            "does not support the path",
        ),
        ("/paths", "/ping", json!({}), "reserves the path /ping"),
    ]);
}

#[test]
fn names_of_what_does_not_exist_are_found() {
    assert_found([
        (
            VIEW,
            "security",
            json!([{ "undeclared": [] }]),
            "security scheme undeclared",
        ),
        (VIEW, VALIDATOR, json!("body"), "the validator \"body\""),
        (
            VIEW,
            VALIDATOR,
            json!("all"),
            "validates a body, and describes none",
        ),
        (
            LOAD,
            VALIDATOR,
            json!("parameters"),
            "has a body that no validator checks",
        ),
        (
            VIEW,
            "parameters",
            json!([{ "$ref": "other.yaml#/Queue" }]),
            "refers to other.yaml#/Queue",
        ),
        (
            VIEW,
            "parameters",
            json!([{ "$ref": "#/components/parameters/Token2" }]),
            "Token2",
        ),
        (
            MODEL,
            "$ref",
            json!("#/components/schemas/Load"),
            "refers to #/components/schemas/Load",
        ),
        (
            INTEGRATION,
            "uri",
            invocation("${ViewFunction.Arn}:live"),
            "the template has no ViewFunction",
        ),
        (
            INTEGRATION,
            "uri",
            invocation("${DocumentFunction.Arn}"),
            "no alias `live`",
        ),
        (INTEGRATION, "httpMethod", json!("GET"), "no proxy for a function"),
        (
            "/info",
            "title",
            json!({ "Ref": "StackTitle" }),
            "the template has no StackTitle",
        ),
        (
            "/info",
            "title",
            json!({ "Fn::If": ["HasTitle", "a", "b"] }),
            "no condition HasTitle",
        ),
        (
            "/info",
            "title",
            json!({ "Fn::If": ["AnyOrigin", { "Ref": "Any" }, "b"] }),
            "the template has no Any",
        ),
        (
            "/info",
            "title",
            json!({ "Fn::If": ["AnyOrigin", "a", { "Ref": "Own" }] }),
            "the template has no Own",
        ),
    ]);
}

#[test]
fn invalid_guards_and_gateway_responses_are_found() {
    assert_found([
        (
            SCHEMES,
            "service",
            json!({ "type": "http", "scheme": "basic" }),
            "is no API key in a header",
        ),
        (
            SCHEMES,
            "service",
            json!({ "type": "apiKey", "in": "header", "name": "Key" }),
            "is no key, no signature and no authorizer",
        ),
        (
            RESPONSES,
            "REQUEST_TOO_LARGE",
            json!({ "statusCode": "413" }),
            "REQUEST_TOO_LARGE",
        ),
        (RESPONSES, "THROTTLE", json!({ "statusCode": "429" }), "THROTTLE "),
        (BUSY, "statusCode", json!("200"), "no status of an error"),
        (
            BUSY,
            "responseParameters",
            json!({ "gatewayresponse.header.Vary": "Origin" }),
            "which is no mapping",
        ),
        (
            BUSY,
            "responseParameters",
            json!({ "gatewayresponse.header.Id": "context.id" }),
            "which is no mapping",
        ),
        (
            BUSY,
            "responseParameters",
            json!({ "header.Vary": "'Origin'" }),
            "which is no mapping",
        ),
        (
            BUSY,
            "responseTemplates",
            json!({ "application/json": "{\"id\":\"$context.request_id\"}" }),
            "inserts $context.request",
        ),
        (
            BUSY,
            "responseTemplates",
            json!({ "application/json": "{\"id\":$input.json('$')}" }),
            "inserts $input.json",
        ),
    ]);
}

fn invocation(function: &str) -> Value {
    let gateway = "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31";
    json!({ "Fn::Sub": format!("{gateway}/functions/{function}/invocations") })
}

fn assert_found<const N: usize>(faults: [Fault; N]) {
    let (document, template) = (read_api_document(), read_template());
    for (place, name, value, part) in faults {
        let mut changed = document.clone();
        let object = changed.pointer_mut(place);
        object.unwrap_or_else(|| panic!("the document has no {place}"))[name] = value;
        let found = findings(&changed, &template);
        assert!(
            found.iter().any(|finding| finding.contains(part)),
            "{place} {name}: {part} in {found:?}"
        );
    }
}

#[test]
fn settings_of_an_unknown_method_are_found() {
    let mut template = read_template();
    // The root path is `/`, and no route has the path `/~1`.
    let settings = &mut template["Resources"]["Api"]["Properties"]["MethodSettings"];
    settings[2]["ResourcePath"] = json!("/~1");
    let found = findings(&read_api_document(), &template);
    assert_eq!(found, ["a method setting is for GET /~1, which is no route"]);
}
