//! Events of every kind of caller, some with a few fields replaced or removed, and events that are none.

use std::fs;

use proptest::{collection::vec, prelude::*, sample::Index, sample::select};
use serde_json::{Map, Value, json};
use vestibule_tests::{
    in_process::{event, with_header},
    template::read_text,
};

use crate::values::{any_json, lists_by_name, method, odd_json_text, odd_text};

/// The entry that the events name.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) queue: String,
    pub(crate) token: String,
    pub(crate) visitor: String,
}

/// What the text of an odd event replaces in a valid one.
const PLACEHOLDER: &str = "\"@@\"";

/// A change of one field.
#[derive(Debug, Clone)]
enum Mutation {
    /// Sets the field at this path, and makes the objects on the way.
    Set(Vec<String>, Value),
    /// Replaces one of the event's fields.
    Replace(Index, Value),
    /// Removes one of the event's fields.
    Remove(Index),
}

/// The paths of texts in an event of the gateway.
const TEXTS: [&str; 24] = [
    "rawQueryString",
    "rawPath",
    "path",
    "resource",
    "routeKey",
    "requestContext.path",
    "requestContext.resourcePath",
    "requestContext.routeKey",
    "requestContext.stage",
    "requestContext.domainName",
    "requestContext.requestId",
    "requestContext.http.path",
    "requestContext.http.sourceIp",
    "requestContext.identity.sourceIp",
    "requestContext.identity.userArn",
    "pathParameters.queue",
    "pathParameters.token",
    "headers.host",
    "headers.Host",
    "headers.x-forwarded-proto",
    "headers.content-type",
    "headers.x-visitor-id",
    "headers.authorization",
    "body",
];

/// The paths of other fields in an event of the gateway, which hold any JSON.
const VALUES: [&str; 16] = [
    "headers",
    "multiValueHeaders",
    "queryStringParameters",
    "multiValueQueryStringParameters",
    "pathParameters",
    "cookies",
    "body",
    "isBase64Encoded",
    "requestContext",
    "requestContext.http",
    "requestContext.identity",
    "requestContext.authorizer",
    "requestContext.authorizer.claims",
    "requestContext.authorizer.jwt",
    "requestContext.authorizer.lambda",
    "requestContext.authorizer.iam",
];

fn split_path(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

/// Changes that any event can have.
fn any_mutation() -> BoxedStrategy<Mutation> {
    prop_oneof![
        3 => (any::<Index>(), any_json()).prop_map(|(field, value)| Mutation::Replace(field, value)),
        1 => any::<Index>().prop_map(Mutation::Remove),
    ]
    .boxed()
}

/// Changes of an event of the gateway. A text in base64 is seldom valid.
fn gateway_mutation() -> BoxedStrategy<Vec<Mutation>> {
    let set = |path: &str, value: Value| Mutation::Set(split_path(path), value);
    let text = (select(&TEXTS[..]), odd_text()).prop_map(move |(path, text)| vec![set(path, json!(text))]);
    let value = (select(&VALUES[..]), any_json()).prop_map(move |(path, value)| vec![set(path, value)]);
    let methods = method().prop_map(move |method| {
        let method = json!(method);
        vec![
            set("httpMethod", method.clone()),
            set("requestContext.http.method", method),
        ]
    });
    let header = (odd_text(), odd_text()).prop_map(move |(name, value)| {
        vec![
            Mutation::Set(vec!["headers".to_owned(), name.clone()], json!(value)),
            Mutation::Set(vec!["multiValueHeaders".to_owned(), name], json!([value])),
        ]
    });
    let lists = (
        select(&["multiValueHeaders", "multiValueQueryStringParameters"][..]),
        lists_by_name(),
    );
    let lists = lists.prop_map(move |(path, lists)| vec![set(path, lists)]);
    let base64 =
        odd_text().prop_map(move |body| vec![set("body", json!(body)), set("isBase64Encoded", json!(true))]);
    prop_oneof![
        6 => text,
        3 => value,
        1 => methods,
        2 => header,
        2 => lists,
        1 => base64,
        2 => any_mutation().prop_map(|mutation| vec![mutation]),
    ]
    .boxed()
}

/// The paths of all fields of an event, outer ones first.
fn list_fields(event: &Value, above: &[String], found: &mut Vec<Vec<String>>) {
    for (name, value) in event.as_object().into_iter().flatten() {
        let path = [above, std::slice::from_ref(name)].concat();
        found.push(path.clone());
        list_fields(value, &path, found);
    }
}

fn set_field(event: &mut Value, path: &[String], value: Option<Value>) {
    let [name, below @ ..] = path else {
        if let Some(value) = value {
            *event = value;
        }
        return;
    };
    if !event.is_object() {
        if value.is_none() {
            return;
        }
        *event = Value::Object(Map::new());
    }
    let Value::Object(fields) = event else { return };
    if below.is_empty() && value.is_none() {
        fields.remove(name);
    } else {
        set_field(fields.entry(name.clone()).or_insert(Value::Null), below, value);
    }
}

fn mutate(mut event: Value, mutations: Vec<Mutation>) -> String {
    for mutation in mutations {
        let mut fields = Vec::new();
        list_fields(&event, &[], &mut fields);
        match mutation {
            Mutation::Set(path, value) => set_field(&mut event, &path, Some(value)),
            Mutation::Replace(field, value) if !fields.is_empty() => {
                set_field(&mut event, field.get::<Vec<String>>(&fields), Some(value));
            }
            Mutation::Remove(field) if !fields.is_empty() => {
                set_field(&mut event, field.get::<Vec<String>>(&fields), None);
            }
            Mutation::Replace(..) | Mutation::Remove(_) => {}
        }
    }
    event.to_string()
}

/// One of the valid events with some changes, or what is no such event.
fn around(valid: Vec<Value>, mutations: BoxedStrategy<Vec<Mutation>>) -> BoxedStrategy<String> {
    let mutated = (select(valid.clone()), vec(mutations, 0..3))
        .prop_map(|(event, mutations)| mutate(event, mutations.into_iter().flatten().collect()));
    // Odd text in a field that some functions read, and as a whole event.
    let holder = (
        select(valid),
        select(&["requestContext.authorizer", "headers", "queue", "unused"][..]),
    );
    let inside = (holder, odd_json_text()).prop_map(|((mut event, field), odd)| {
        set_field(&mut event, &split_path(field), Some(json!("@@")));
        event.to_string().replace(PLACEHOLDER, &odd)
    });
    prop_oneof![
        40 => mutated,
        6 => inside,
        2 => odd_json_text(),
        4 => any_json().prop_map(|value| value.to_string()),
    ]
    .boxed()
}

/// Events of API Gateway for the routes of a function, of both payloads.
pub(crate) fn of_the_gateway(place: &Place, function: &str) -> BoxedStrategy<String> {
    let entries = "/queues/{queue}/entries";
    let entry = "/queues/{queue}/entries/{token}";
    let under = |path: &str| format!("{entry}{path}");
    let routes = match function {
        "document" => vec![
            ("GET", "/queues/{queue}".to_owned()),
            ("GET", entries.to_owned()),
            ("GET", "/".to_owned()),
            ("GET", "/.well-known/jwks.json".to_owned()),
            ("OPTIONS", entries.to_owned()),
        ],
        "enter" => vec![("POST", entries.to_owned()), ("DELETE", entry.to_owned())],
        "claim" => vec![("POST", under("/claim")), ("POST", under("/extend"))],
        "status" => vec![("GET", entry.to_owned())],
        _ => vec![
            ("POST", under("/validate")),
            ("POST", under("/complete")),
            ("POST", "/queues/{queue}/load".to_owned()),
        ],
    };
    let rest = routes
        .iter()
        .map(|(method, path)| rest_event(place, method, path));
    let http = routes
        .iter()
        .map(|(method, path)| http_event(place, method, path));
    let valid: Vec<_> = rest.chain(http).collect();
    around(valid, gateway_mutation())
}

fn rest_event(place: &Place, method: &str, resource: &str) -> Value {
    let all = [("queue", &place.queue), ("token", &place.token)];
    let named = all
        .into_iter()
        .filter(|(name, _)| resource.contains(&format!("{{{name}}}")));
    let parameters: Map<String, Value> = named
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let mut event = event(method, resource, &Value::Object(parameters));
    event["requestContext"]["identity"]["apiKeyId"] = json!("key1");
    with_header(event, "X-Visitor-Id", &place.visitor)
}

fn http_event(place: &Place, method: &str, resource: &str) -> Value {
    let path = resource
        .replace("{queue}", &place.queue)
        .replace("{token}", &place.token);
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "wait=0",
        "cookies": ["a=b"],
        "headers": { "host": "abc.execute-api.eu-west-1.amazonaws.com", "x-visitor-id": place.visitor },
        "queryStringParameters": { "wait": "0" },
        "requestContext": {
            "accountId": "123456789012",
            "domainName": "abc.execute-api.eu-west-1.amazonaws.com",
            "requestId": "gateway-request-2",
            "routeKey": "$default",
            "stage": "$default",
            "timeEpoch": 1_795_262_400,
            "http": { "method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "curl" },
        },
        "isBase64Encoded": false,
    })
}

/// Events with more headers than a map of headers holds, in each payload.
pub(crate) fn with_too_many_headers(place: &Place) -> [String; 2] {
    let headers = |value: Value| -> Value {
        (0..40_000)
            .map(|number| (format!("x-{number}"), value.clone()))
            .collect()
    };
    let mut rest = rest_event(place, "GET", "/queues/{queue}");
    rest["multiValueHeaders"] = headers(json!(["a"]));
    let mut http = http_event(place, "GET", "/queues/{queue}");
    http["headers"] = headers(json!("a"));
    [rest.to_string(), http.to_string()]
}

/// The sample events whose names begin like this, with the queue and the entry of the suite.
fn sample_events(place: &Place, beginning: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/events");
    let mut names: Vec<_> = fs::read_dir(folder)
        .expect("the folder")
        .map(|file| file.expect("readable").file_name().into_string().expect("a name"))
        .filter(|name| name.starts_with(beginning))
        .collect();
    names.sort();
    let read = |name: &String| {
        let text = read_text(&format!("infra/events/{name}"));
        serde_json::from_str(&text.replace("TIMEDEAL:123", &place.queue)).expect("JSON")
    };
    let events: Vec<_> = names.iter().map(read).collect();
    assert!(!events.is_empty(), "no sample event begins with {beginning}");
    events
}

fn simple(valid: Vec<Value>) -> BoxedStrategy<String> {
    around(valid, any_mutation().prop_map(|mutation| vec![mutation]).boxed())
}

/// Events that API Gateway sends to an authorizer.
pub(crate) fn of_an_authorizer(place: &Place) -> BoxedStrategy<String> {
    let mut valid = sample_events(place, "authorizer-");
    for event in &mut valid {
        let token = json!(format!("Bearer {}", place.token));
        if event["type"] == "TOKEN" {
            event["authorizationToken"] = token;
        } else {
            event["headers"]["x-visitor-id"] = json!(place.visitor);
            event["headers"]["Authorization"] = token;
        }
    }
    let token = odd_text().prop_map(|text| {
        let path = vec!["authorizationToken".to_owned()];
        vec![Mutation::Set(path, json!(text))]
    });
    let mutations = prop_oneof![token, gateway_mutation()];
    around(valid, mutations.boxed())
}

/// Commands of operators.
pub(crate) fn of_an_operator(place: &Place) -> BoxedStrategy<String> {
    simple(sample_events(place, "admin-"))
}

/// Calls of the console of AWS for a custom widget.
pub(crate) fn of_a_dashboard(place: &Place) -> BoxedStrategy<String> {
    let call = |order: Option<&str>| {
        json!({
            "order": order, "show": place.queue, "queue": place.queue, "describe": false,
            "widgetContext": {
                "theme": "dark",
                "timezone": { "label": "UTC", "offsetISO": "+00:00", "offsetInMinutes": 0 },
                "forms": { "all": { "queue": place.queue, "message": "Back at nine" } },
            },
        })
    };
    simple(
        [None, Some("pause"), Some("resume"), Some("message")]
            .map(call)
            .to_vec(),
    )
}

/// Events of the schedule.
pub(crate) fn of_a_schedule() -> BoxedStrategy<String> {
    let text = read_text("infra/events/promoter-schedule.json");
    simple(vec![serde_json::from_str(&text).expect("JSON")])
}
