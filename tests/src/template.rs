//! Reads the template and the API document as JSON. Intrinsics get their long form: `!Ref X` becomes `{"Ref": "X"}`.

// A panic in the harness fails the test.
#![allow(clippy::missing_panics_doc)]

use std::{collections::BTreeSet, fs, path::Path};

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Number, Value, json};

/// Reads `template.yaml`.
pub fn read_template() -> Value {
    read_yaml("template.yaml")
}

/// Reads the dashboard of the template, with the widget of the queues.
pub fn read_dashboard(template: &Value) -> Value {
    let body = &template["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"];
    let widget = &body[1]["Queues"]["Fn::If"];
    assert_eq!((&widget[0], &widget[2]), (&json!("HasWidget"), &json!("")));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let body = text(&body[0]).replace("${Queues}", &text(&widget[1]["Fn::Sub"]));
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("the dashboard is no JSON: {error}"))
}

/// Reads `infra/openapi.yaml`, the API as it is deployed.
pub fn read_api_document() -> Value {
    read_yaml("infra/openapi.yaml")
}

/// Reads `docs/openapi.json`, the API as clients see it, with its answers.
pub fn read_api_documentation() -> Value {
    serde_json::from_str(&read_text("docs/openapi.json")).expect("docs/openapi.json is JSON")
}

/// A path of the API document with values for its parameters: an existing file, and a queue and an entry that do not
/// exist.
pub fn example_path(path: &str) -> String {
    path.replace("/pages/{file}", "/pages/en.html")
        .replace("/{file}", "/theme.css")
        .replace("{queue}", "a")
        .replace("{token}", "1777853d-5d52-8cab-a8ce-928d525f6d31")
}

/// How `MethodSettings` write a path of the API document.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-apigateway-stage-methodsetting.html>
pub fn method_settings_path(path: &str) -> String {
    match path {
        "/" => "/".to_owned(),
        path => format!("/{}", path.replace('/', "~1")),
    }
}

/// Reads the template of the sample API behind the authorizer.
pub fn read_sample_api() -> Value {
    read_yaml("examples/protected-api/template.yaml")
}

/// Reads a file of the repository as text.
pub fn read_text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads the sources of the waiting page and the client library: name and text.
pub fn read_web_scripts() -> Vec<(String, String)> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web");
    let entries = [web.join("page/src"), web.join("client/src")]
        .into_iter()
        .flat_map(|folder| fs::read_dir(folder).expect("the folder can be read"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_script = |path: &Path| {
        path.extension()
            .is_some_and(|extension| extension == "js" || extension == "ts")
    };
    let scripts = paths.filter(|path| is_script(path));
    scripts
        .map(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            let text = fs::read_to_string(&path).expect("the script is text");
            (name.expect("the name is text").to_owned(), text)
        })
        .collect()
}

/// Reads all Rust files under a folder of the repository, except tests.
pub fn read_rust_sources(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().unwrap_or_default();
            if name == "tests" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(fs::read_to_string(&path).expect("the file is text"));
            }
        }
    }
    found
}

fn read_yaml(path: &str) -> Value {
    let text = read_text(path);
    let documents = Yaml::load_from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let [document] = documents.as_slice() else {
        panic!("{path} has {} documents instead of one", documents.len());
    };
    to_json(document)
}

fn to_json(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(flag)) => json!(flag),
        Yaml::Value(Scalar::Integer(number)) => json!(number),
        Yaml::Value(Scalar::FloatingPoint(number)) => {
            Number::from_f64(**number).map_or(Value::Null, Value::Number)
        }
        Yaml::Value(Scalar::String(text)) => json!(text),
        Yaml::Sequence(items) => items.iter().map(to_json).collect(),
        Yaml::Mapping(pairs) => pairs
            .iter()
            .map(|(name, value)| (key_text(name), to_json(value)))
            .collect(),
        Yaml::Tagged(tag, node) => {
            let name = match tag.suffix.as_str() {
                short @ ("Ref" | "Condition") => short.to_owned(),
                short => format!("Fn::{short}"),
            };
            Value::Object(Map::from_iter([(name, to_json(node))]))
        }
        other => panic!("a YAML node that this reader does not support: {other:?}"),
    }
}

fn key_text(node: &Yaml<'_>) -> String {
    match to_json(node) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The value with each `Fn::If` replaced by the branch that applies. `None` if the branch is `AWS::NoValue`.
pub fn resolve_conditions(value: &Value, is_true: &dyn Fn(&str) -> bool) -> Option<Value> {
    match value {
        Value::Object(map) if map.len() == 1 && map.contains_key("Fn::If") => {
            let choice = map["Fn::If"].as_array().expect("condition, then, else");
            let name = choice[0].as_str().expect("a condition");
            resolve_conditions(&choice[if is_true(name) { 1 } else { 2 }], is_true)
        }
        Value::Object(map) if map.get("Ref").is_some_and(|name| name == "AWS::NoValue") => None,
        Value::Object(map) => {
            let kept = map
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), resolve_conditions(value, is_true)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(list) => Some(
            list.iter()
                .filter_map(|value| resolve_conditions(value, is_true))
                .collect(),
        ),
        other => Some(other.clone()),
    }
}

/// Calls `found` with every value of the key `name`, at any depth.
pub fn for_each_named<'a>(value: &'a Value, name: &str, found: &mut dyn FnMut(&'a Value)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if key == name {
                    found(value);
                }
                for_each_named(value, name, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| for_each_named(item, name, found)),
        _ => {}
    }
}

/// The words of a text that begin with `prefix`. A word ends before the first character that is not a letter, a digit
/// or `_`.
pub fn words_with_prefix(text: &str, prefix: &str) -> BTreeSet<String> {
    text.match_indices(prefix)
        .map(|(at, _)| {
            let rest = &text[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            rest[..end.unwrap_or(rest.len())].to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_choose_a_branch_and_no_value_is_dropped() {
        let value = json!({ "a": [{ "Fn::If": ["Yes", 1, 2] }, { "Fn::If": ["No", 3, { "Ref": "AWS::NoValue" }] }],
            "b": { "Fn::If": ["No", 1, { "Fn::If": ["Yes", { "c": 4 }, 5] }] } });
        assert_eq!(
            resolve_conditions(&value, &|name| name == "Yes"),
            Some(json!({ "a": [1], "b": { "c": 4 } }))
        );
    }
}
