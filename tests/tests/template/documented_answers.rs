//! Compares answers with the API document.

use serde_json::Value;
use vestibule_tests::in_process::ApiResponse;

/// Asserts that an answer matches what the document says for its operation and status.
pub(crate) fn assert_matches(document: &Value, method: &str, path: &str, answer: &ApiResponse) {
    let status = answer.status.as_u16().to_string();
    let place = format!("{method} {path} {status}");
    let listed = &document["paths"][path][method]["responses"][&status];
    assert!(
        listed.is_object(),
        "the document does not list {place}: {answer:?}"
    );
    let listed = resolve_reference(document, listed);
    for name in ["location", "retry-after", "set-cookie"] {
        let headers = listed["headers"].as_object();
        let is_listed =
            headers.is_some_and(|headers| headers.keys().any(|key| key.eq_ignore_ascii_case(name)));
        assert!(
            is_listed || !answer.headers.contains_key(name),
            "the document does not list the header or field {name} of {place}"
        );
    }
    let Some(content) = listed["content"].as_object() else {
        assert!(answer.body.is_null(), "{place} must have no body: {answer:?}");
        return;
    };
    let kind = answer.header("content-type");
    let content = content
        .get(kind)
        .unwrap_or_else(|| panic!("the document does not list the content type {kind} of {place}"));
    assert_fits_schema(document, &answer.body, &content["schema"], &place);
}

/// The value, or what it refers to by `$ref`.
pub(crate) fn resolve_reference<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        None => value,
        Some(reference) => {
            let pointer = reference
                .strip_prefix('#')
                .expect("a reference within the document");
            document
                .pointer(pointer)
                .unwrap_or_else(|| panic!("the document has nothing at {reference}"))
        }
    }
}

/// Asserts that a value matches a schema. Supports only the JSON Schema keywords that the document uses, and rejects
/// fields that the schema does not name.
pub(crate) fn assert_fits_schema(document: &Value, value: &Value, schema: &Value, place: &str) {
    let schema = resolve_reference(document, schema);
    if let Some(values) = schema["enum"].as_array() {
        assert!(
            values.contains(value),
            "{place}: {value} is not one of {values:?}"
        );
    }
    let has_type = match schema["type"].as_str().expect("a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || (value.is_i64() && schema.get("minimum").is_none()),
        "number" => value.is_number(),
        other => panic!("{place}: the schema has an unknown type: {other}"),
    };
    assert!(
        has_type || (value.is_null() && schema["nullable"] == true),
        "{place}: {value} does not match {schema}"
    );
    for item in value.as_array().into_iter().flatten() {
        assert_fits_schema(document, item, &schema["items"], place);
    }
    if let Some(fields) = value.as_object() {
        for (name, field) in fields {
            let properties = &schema["properties"];
            let known = properties.get(name).unwrap_or(&schema["additionalProperties"]);
            assert!(
                known.is_object(),
                "the document does not list the header or field {name} of {place}"
            );
            assert_fits_schema(document, field, known, &format!("{place} {name}"));
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(
                value.get(name.as_str().expect("a name")).is_some(),
                "{place}: the field {name} is missing in {value}"
            );
        }
    }
}
