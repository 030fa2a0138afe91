//! The calls to AWS that the functions make, as the suites that run their binaries recorded them in `tests/aws-calls.txt`.

use std::sync::LazyLock;

use serde_json::Value;
use vestibule_tests::template::read_text;

use crate::stack::{Stack, text_of};

/// One line of the file.
#[derive(Debug, Clone)]
pub(crate) struct RecordedCall {
    /// The name of the function's binary, such as `enter`.
    pub(crate) function: String,
    pub(crate) action: String,
    /// What the environment of the function names, such as `EntriesTable` or `RootKeySecret`.
    resource: String,
    /// The attributes that an update names, if they were recorded.
    pub(crate) attributes: Option<Vec<String>>,
}

/// All recorded calls.
pub(crate) static RECORDED: LazyLock<Vec<RecordedCall>> = LazyLock::new(|| {
    let text = read_text("tests/aws-calls.txt");
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(parse)
        .collect()
});

fn parse(line: &str) -> RecordedCall {
    let mut fields = line.split(' ').map(str::to_owned);
    let mut next = || {
        fields
            .next()
            .unwrap_or_else(|| panic!("tests/aws-calls.txt: too few words: {line}"))
    };
    let (function, action, resource) = (next(), next(), next());
    let attributes = fields.next().map(|field| {
        let names = field
            .strip_prefix("attributes=")
            .unwrap_or_else(|| panic!("tests/aws-calls.txt: {line}"));
        names.split(',').map(str::to_owned).collect()
    });
    RecordedCall {
        function,
        action,
        resource,
        attributes,
    }
}

/// Why a call has no resource in a stack.
pub(crate) enum NoResource {
    /// This stack does not use it, so the function does not make the call.
    Unused,
    /// The environment of the function does not name it.
    Unnamed(&'static str),
}

impl RecordedCall {
    /// The ARN of the resource in a stack, where the variables of the function name it.
    pub(crate) fn find_resource(&self, stack: &Stack<'_>, variables: &Value) -> Result<String, NoResource> {
        let (variable, is_optional) = match self.resource.as_str() {
            "QueuesTable" => ("VESTIBULE_QUEUES_TABLE", false),
            "EntriesTable" => ("VESTIBULE_ENTRIES_TABLE", false),
            "RootKeySecret" => ("VESTIBULE_ROOT_KEY_SECRET", false),
            "SigningKeySecret" => ("VESTIBULE_SIGNING_KEY_SECRET", false),
            "OriginKeySecret" => ("VESTIBULE_ORIGIN_KEY_SECRET", true),
            "EventBus" => ("VESTIBULE_EVENT_BUS", true),
            "AdminFunction" => ("VESTIBULE_ADMIN_FUNCTION", false),
            other => panic!("tests/aws-calls.txt: an unknown resource {other}"),
        };
        let name = text_of(&variables[variable]);
        if name.is_empty() {
            return Err(if is_optional {
                NoResource::Unused
            } else {
                NoResource::Unnamed(variable)
            });
        }
        Ok(match self.resource.as_str() {
            "QueuesTable" | "EntriesTable" => stack.arn("dynamodb", &format!("table/{name}")),
            "EventBus" => stack.arn("events", &format!("event-bus/{name}")),
            _ => name,
        })
    }
}
