//! The path by which the router finds the route of an event.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use vestibule_domain::uri;

use super::event::{PayloadFormat, RawEvent};

/// Returns the event's resource with its parameters filled in. If the event names no resource,
/// returns the path that the client used.
pub(super) fn request_path(event: &RawEvent) -> String {
    let context = &event.request_context;
    let format = event.payload_format();
    let resource = match format {
        PayloadFormat::Rest => context.resource_path.as_deref(),
        // A route key is like `GET /queues/{queue}`. The key `$default` names no resource.
        PayloadFormat::Http => context
            .route_key
            .as_deref()
            .and_then(|key| Some(key.split_once(' ')?.1)),
    };
    match (resource, format) {
        (Some(resource), _) => {
            let path = fill_parameters(resource, event.path_parameters.as_ref());
            // The gateway routes a path with a slash at its end to the resource without it.
            let has_slash = event
                .path
                .as_deref()
                .is_some_and(|used| used.len() > 1 && used.ends_with('/'));
            if has_slash && !path.ends_with('/') {
                path + "/"
            } else {
                path
            }
        }
        (None, PayloadFormat::Rest) => event.path.clone().unwrap_or_default(),
        (None, PayloadFormat::Http) => {
            let used = event.raw_path.as_deref().unwrap_or_default();
            encode_segments(strip_stage(used, context.stage.as_deref()))
        }
    }
}

/// Removes the stage from the path of an HTTP API. The stage `$default` is never in the path.
fn strip_stage<'a>(path: &'a str, stage: Option<&str>) -> &'a str {
    stage
        .and_then(|stage| path.strip_prefix('/')?.strip_prefix(stage))
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(path)
}

fn fill_parameters(resource: &str, parameters: Option<&BTreeMap<String, String>>) -> String {
    let value = |name: &str| {
        let value = parameters.and_then(|parameters| parameters.get(name));
        value.map(String::as_str).unwrap_or_default()
    };
    let segments = resource.split('/').map(|segment| {
        let name = segment
            .strip_prefix('{')
            .and_then(|segment| segment.strip_suffix('}'));
        match name {
            None => segment.to_owned(),
            Some(name) => match name.strip_suffix('+') {
                // A greedy parameter holds the rest of the path.
                Some(name) => encode_segments(value(name)),
                None => encode_segment(value(name)),
            },
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

fn encode_segments(path: &str) -> String {
    path.split('/').map(encode_segment).collect::<Vec<_>>().join("/")
}

/// Encodes one parameter as a path segment. Gateways differ in whether they decode parameters, so this
/// function decodes it first, exactly once. That changes only a parameter with a `%`, and no id has one.
fn encode_segment(parameter: &str) -> String {
    let decoded = percent_decode_str(parameter).decode_utf8();
    let decoded = decoded.as_deref().unwrap_or(parameter);
    uri::percent_encode(decoded)
}
