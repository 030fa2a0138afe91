//! The template and the document of the API as JSON, intrinsics in their long form: `!Ref X` as `{"Ref": "X"}`.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

use std::{collections::BTreeSet, fs, path::Path};

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Number, Value, json};

/// `template.yaml`.
pub fn template() -> Value {
    read("template.yaml")
}

/// `infra/openapi.yaml`.
pub fn document() -> Value {
    read("infra/openapi.yaml")
}

/// A file of the repository as text.
pub fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Rust files under a folder of the repository as texts, but for tests.
pub fn sources(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().unwrap_or_default();
            if name == "tests" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(fs::read_to_string(&path).expect("a text"));
            }
        }
    }
    found
}

fn read(path: &str) -> Value {
    let text = text(path);
    let documents = Yaml::load_from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let [document] = documents.as_slice() else {
        panic!("{path} holds {} documents", documents.len());
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
            .map(|(name, value)| (word(name), to_json(value)))
            .collect(),
        Yaml::Tagged(tag, node) => {
            let name = match tag.suffix.as_str() {
                short @ ("Ref" | "Condition") => short.to_owned(),
                short => format!("Fn::{short}"),
            };
            Value::Object(Map::from_iter([(name, to_json(node))]))
        }
        other => panic!("no value: {other:?}"),
    }
}

fn word(node: &Yaml<'_>) -> String {
    match to_json(node) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Calls back with every value that stands under a name, however deep.
pub fn each<'a>(value: &'a Value, name: &str, found: &mut dyn FnMut(&'a Value)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if key == name {
                    found(value);
                }
                each(value, name, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each(item, name, found)),
        _ => {}
    }
}

/// The words of a text that begin like this, to the first character that is neither letter nor digit nor `_`.
pub fn words_with(text: &str, prefix: &str) -> BTreeSet<String> {
    text.match_indices(prefix)
        .map(|(at, _)| {
            let rest = &text[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            rest[..end.unwrap_or(rest.len())].to_owned()
        })
        .collect()
}
