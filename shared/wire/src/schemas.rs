//! The JSON schemas of the API's document, as `OpenAPI` 3.0 and API Gateway take them.

use schemars::{Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Map, Value, json};
use vestibule_domain::{
    pace::LimitedBy,
    score::ORDER_BITS,
    settings::{Entrance, Mode},
    state::EntryState,
};

use super::{
    Closing, CompleteRequest, EmptyBody, EnterRequest, Entry, ExtendRequest, Jwks, LoadAnswer, LoadReport,
    Problem, PublicDocument, ValidateRequest, ValidateResponse, commands::OPERATIONS,
    results::MatchingEntries,
};

/// The greatest whole number that every JSON parser reads exactly (RFC 8259, section 6).
const EXACT_MAX: i64 = (1 << 53) - 1;

/// The keywords that models of API Gateway know. Its regular expressions are of another dialect.
const GATEWAY_KEYWORDS: [&str; 10] = [
    "type",
    "description",
    "additionalProperties",
    "properties",
    "required",
    "enum",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
];

/// The schemas of the document for clients, by name.
#[allow(clippy::missing_panics_doc)] // A problem has fields.
pub fn for_clients() -> Map<String, Value> {
    let mut requests = SchemaSettings::openapi3().into_generator();
    requests.subschema_for::<EmptyBody>();
    requests.subschema_for::<EnterRequest>();
    requests.subschema_for::<ValidateRequest>();
    requests.subschema_for::<CompleteRequest>();
    requests.subschema_for::<ExtendRequest>();
    requests.subschema_for::<LoadReport>();
    let mut answers = SchemaSettings::openapi3().for_serialize().into_generator();
    answers.subschema_for::<LoadAnswer>();
    answers.subschema_for::<Entry>();
    answers.subschema_for::<Closing>();
    answers.subschema_for::<PublicDocument>();
    answers.subschema_for::<ValidateResponse>();
    answers.subschema_for::<Jwks>();
    answers.subschema_for::<Problem>();
    let mut all = requests.take_definitions(true);
    all.append(&mut answers.take_definitions(true));
    all.values_mut()
        .for_each(|schema| tidy(schema, References::Alone));
    // A command has no id, and every answer of the API has one.
    let required = all["Problem"]["required"].as_array_mut();
    required.expect("a problem has fields").push(json!("request_id"));
    all
}

/// The document of the commands of operators: `commands` has each by its name, and `schemas` what they answer. There, a reference to
/// another schema has its own description.
#[allow(clippy::missing_panics_doc)] // Arguments are declared as structs.
pub fn of_commands() -> Value {
    let mut arguments = SchemaSettings::openapi3().into_generator();
    let mut results = SchemaSettings::openapi3().for_serialize().into_generator();
    let mut commands = Map::new();
    for operation in OPERATIONS {
        let answers = operation.results.iter().map(|schema| schema(&mut results));
        let described = json!({
            "meaning": operation.meaning(),
            "right": operation.right.name(),
            "needs_confirmation": operation.needs_confirmation,
            "arguments": (operation.schema)(&mut arguments),
            "results": answers.map(|reference| name_of(reference.as_value())).collect::<Vec<_>>(),
        });
        commands.insert(operation.name.to_owned(), described);
    }
    // A problem is no result, and has this member.
    results.subschema_for::<MatchingEntries>();
    let mut structs = arguments.take_definitions(true);
    // The arguments of a command stand with it.
    for command in commands.values_mut() {
        let fields = &mut structs[&name_of(&command["arguments"])];
        tidy(fields, References::Described);
        command["arguments"] = json!({
            "properties": fields.get("properties").cloned().unwrap_or_else(|| json!({})),
            "required": fields.get("required").cloned().unwrap_or_else(|| json!([])),
        });
    }
    let mut schemas = results.take_definitions(true);
    for schema in schemas.values_mut() {
        tidy(schema, References::Described);
    }
    json!({ "commands": commands, "schemas": schemas })
}

/// The name of the type that a schema refers to.
fn name_of(reference: &Value) -> String {
    let path = reference["$ref"].as_str().expect("a struct is a reference");
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// The models of the bodies that API Gateway checks.
pub fn for_gateway() -> Map<String, Value> {
    let mut all = for_clients();
    let checked = ["ValidateRequest", "LoadReport"];
    all.retain(|name, _| checked.contains(&name.as_str()));
    all.values_mut().for_each(keep_what_the_gateway_knows);
    all
}

/// What a reference to another schema says.
#[derive(Clone, Copy)]
enum References {
    /// Nothing else: the type that it names has its own description.
    Alone,
    /// What the member is, and whether it may be null.
    Described,
}

/// The mark of a member that may be absent, or null.
const NULL_TOO: &str = "x-null";

/// Makes a schema as short and as exact as the document wants it.
fn tidy(schema: &mut Value, references: References) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    unwrap_only_choice(object);
    join_words(object);
    object.shift_remove("title");
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    if let Some(target) = object.shift_remove("$ref") {
        let reference = json!({ "$ref": target });
        match references {
            // OpenAPI 3.0 ignores the other members of a reference.
            References::Described if !object.is_empty() => {
                object.insert("allOf".to_owned(), json!([reference]));
            }
            References::Described | References::Alone => *schema = reference,
        }
        return;
    }
    if object.get("type") == Some(&json!("integer")) {
        bound_integer(object);
    }
    let required = object.get("required").cloned().unwrap_or_default();
    let is_required = |name: &String| {
        required
            .as_array()
            .is_some_and(|names| names.contains(&json!(name)))
    };
    for (name, property) in object
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        tidy(property, references);
        let Some(property) = property.as_object_mut() else {
            continue;
        };
        property.shift_remove("default");
        let may_be_null = property.shift_remove(NULL_TOO).is_some();
        if !is_required(name) && !may_be_null {
            // It is absent instead.
            property.shift_remove("nullable");
        }
    }
    for name in ["items", "additionalProperties"] {
        let schemas = object.get_mut(name).into_iter();
        schemas.for_each(|schema| tidy(schema, references));
    }
}

/// Puts in place of a choice its first member: the other one is null.
fn unwrap_only_choice(object: &mut Map<String, Value>) {
    for name in ["allOf", "anyOf"] {
        let Some(Value::Array(members)) = object.shift_remove(name) else {
            continue;
        };
        if members.iter().any(|member| member["nullable"] == true) {
            object.insert("nullable".to_owned(), json!(true));
        }
        if let Some(Value::Object(member)) = members.into_iter().next() {
            for (name, value) in member {
                object.entry(name).or_insert(value);
            }
        }
    }
}

/// Makes one list of words of the variants of an enum, with what each means.
fn join_words(object: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = object.shift_remove("oneOf") else {
        return;
    };
    let word = |variant: &Value| {
        variant["enum"][0]
            .as_str()
            .expect("a variant without fields")
            .to_owned()
    };
    let meaning = |variant: &Value| variant["description"].as_str().unwrap_or_default().to_owned();
    let meanings = variants
        .iter()
        .map(|variant| format!("`{}`: {}", word(variant), meaning(variant)));
    let lead = object
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let description = format!("{lead} {}", meanings.collect::<Vec<_>>().join(" "));
    for (name, value) in [
        ("type", json!("string")),
        ("enum", variants.iter().map(word).collect()),
        ("description", json!(description)),
    ] {
        object.shift_remove(name);
        object.insert(name.to_owned(), value);
    }
}

/// Gives an integer its width and its bounds: a client that is generated would take it for 32 bits.
fn bound_integer(object: &mut Map<String, Value>) {
    let is_signed =
        object.get("format").and_then(Value::as_str) == Some("int64") && !object.contains_key("maximum");
    let of_type = match object.get("format").and_then(Value::as_str) {
        Some("uint8") => i64::from(u8::MAX),
        Some("uint32") => i64::from(u32::MAX),
        _ => EXACT_MAX,
    };
    let given = |name: &str| object.get(name).and_then(Value::as_i64);
    let minimum = given("minimum").unwrap_or(if is_signed { -EXACT_MAX } else { 0 });
    let maximum = given("maximum").unwrap_or(of_type);
    let format = if maximum > i64::from(i32::MAX) {
        "int64"
    } else {
        "int32"
    };
    for (name, value) in [
        ("format", json!(format)),
        ("minimum", json!(minimum)),
        ("maximum", json!(maximum)),
    ] {
        object.insert(name.to_owned(), value);
    }
}

fn keep_what_the_gateway_knows(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.retain(|name, _| GATEWAY_KEYWORDS.contains(&name.as_str()));
    let properties = object.get_mut("properties").and_then(Value::as_object_mut);
    properties
        .into_iter()
        .flatten()
        .for_each(|(_, property)| keep_what_the_gateway_knows(property));
}

/// The number of a visit.
pub(super) fn visit(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 0, "maximum": (1_u64 << ORDER_BITS) - 1 })
}

/// The id or the secret of a visitor: no blank at its ends, and no control character.
pub(super) fn visitor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "minLength": 1,
        "maxLength": 256,
        "pattern": r"^[^\s\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f])?$",
    })
}

/// A UUID.
pub(super) fn uuid(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "uuid" })
}

/// One of these words.
fn words(words: &[&str]) -> Schema {
    json_schema!({ "type": "string", "enum": words })
}

/// The blocks of a queue.
pub(super) fn blocks(_: &mut SchemaGenerator) -> Schema {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "token": text("The entry token of a visitor. Absent in the block of a source."),
                "source": text("The source. Absent in the block of a visitor."),
                "until_ms": {
                    "type": "integer",
                    "description": "When the block ends, in Unix milliseconds. Absent if only `unblock` ends it.",
                },
            },
        },
    })
}

/// The states of an entry that has a place.
pub(super) fn live_state(_: &mut SchemaGenerator) -> Schema {
    let live = EntryState::ALL.into_iter().filter(|state| state.is_live());
    words(&live.map(EntryState::name).collect::<Vec<_>>())
}

/// The states of an entry that has ended.
pub(super) fn ended_state(_: &mut SchemaGenerator) -> Schema {
    let ended = EntryState::ALL.into_iter().filter(|state| !state.is_live());
    words(&ended.map(EntryState::name).collect::<Vec<_>>())
}

/// The state of an entry that may act.
pub(super) fn active_state(_: &mut SchemaGenerator) -> Schema {
    words(&[EntryState::Active.name()])
}

/// Whether visitors line up.
pub(super) fn mode(_: &mut SchemaGenerator) -> Schema {
    words(Mode::WORDS)
}

/// The entrance in force, which is never one with a reason.
pub(super) fn entrance(_: &mut SchemaGenerator) -> Schema {
    let in_force = Entrance::WORDS.iter().copied();
    let reasons = ["sold_out", "cancelled"];
    words(
        &in_force
            .filter(|word| !reasons.contains(word))
            .collect::<Vec<_>>(),
    )
}

/// What visitors are told of the limit of the last promotion: the line, the pace and the request are no obstacles.
pub(super) fn limited_by(_: &mut SchemaGenerator) -> Schema {
    let told = [
        LimitedBy::Capacity,
        LimitedBy::Presence,
        LimitedBy::Service,
        LimitedBy::Switch,
        LimitedBy::Journal,
        LimitedBy::Clock,
    ];
    words(&told.map(LimitedBy::name))
}

/// The codes of the problems that callers of the API get.
pub(super) fn code(_: &mut SchemaGenerator) -> Schema {
    words(
        &super::Code::of_callers()
            .map(super::Code::name)
            .collect::<Vec<_>>(),
    )
}
