//! The functions of a deployment, with the variables that the template gives each of them.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::OnceLock,
    time::Duration,
};

use vestibule_backup_dynamodb::TableNames;

use super::{DeploymentConfig, function_variables, secrets::DeploymentSecrets};
use crate::{aws_calls::AwsEndpoint, lambda::Function, programs::build_programs};

/// The event bus of a deployment with one.
const EVENT_BUS: &str = "shop-events";
/// The queues that the authorizer protects.
const AUTHORIZER_QUEUES: &str = "test:*";
/// The variables that hold a key. A deployment with secrets has none of them.
const KEY_VARIABLES: [&str; 2] = ["VESTIBULE_ROOT_KEY", "VESTIBULE_SIGNING_KEY"];

/// The variables of a function.
type Variables = BTreeMap<String, String>;

/// The names of resources in the template, by the names or ARNs by which the functions know them.
pub(super) fn resource_names(
    tables: &TableNames,
    secrets: Option<&DeploymentSecrets>,
) -> HashMap<String, &'static str> {
    let mut names = HashMap::from([
        (tables.queues.clone(), "QueuesTable"),
        (tables.entries.clone(), "EntriesTable"),
        (EVENT_BUS.to_owned(), "EventBus"),
        ("admin".to_owned(), "AdminFunction"),
    ]);
    names.extend(secrets.into_iter().flat_map(DeploymentSecrets::names_by_arn));
    names
}

/// Defines the functions. Each calls AWS at an address of its own, by which its calls are recorded.
pub(super) fn define_functions(
    config: &DeploymentConfig,
    tables: &TableNames,
    aws: &AwsEndpoint,
    secrets: Option<&DeploymentSecrets>,
) -> Vec<Function> {
    let mut of_all = function_variables(config, tables);
    if secrets.is_some() {
        of_all.retain(|variable, _| !KEY_VARIABLES.contains(&variable.as_str()));
    }
    let (seconds, minute) = (Duration::from_secs(10), Duration::from_mins(1));
    [
        ("document", seconds, config.environments_max),
        ("enter", seconds, config.environments_max),
        ("claim", seconds, config.environments_max),
        ("status", config.status_timeout, config.environments_max),
        ("validate", seconds, config.environments_max),
        ("authorizer", seconds, config.environments_max),
        ("admin", minute, config.environments_max),
        ("promoter", config.promoter_timeout, config.promoters_max),
        ("widget", minute, config.environments_max),
    ]
    .into_iter()
    .map(|(name, timeout, environments_max)| {
        let aws_url = aws.url_for(name);
        let variables = if name == "widget" {
            widget_variables(&aws_url)
        } else {
            let mut variables = of_all.clone();
            variables.extend(own_variables(config, name, &aws_url));
            variables.extend(
                secrets
                    .into_iter()
                    .flat_map(|secrets| secrets.variables(name, &aws_url)),
            );
            variables
        };
        Function {
            name,
            program: binaries_dir().join(name),
            variables,
            timeout,
            environments_max,
        }
    })
    .collect()
}

/// The variables that differ from function to function.
fn own_variables(config: &DeploymentConfig, function: &str, aws_url: &str) -> Variables {
    let table_url = config.table_urls.get(function).map_or(aws_url, String::as_str);
    let mut variables = to_variables([("VESTIBULE_DYNAMODB_ENDPOINT", table_url)]);
    variables.extend(match function {
        "authorizer" => to_variables([("VESTIBULE_AUTHORIZER_QUEUES", AUTHORIZER_QUEUES)]),
        "promoter" if config.event_bus => to_variables([
            ("VESTIBULE_EVENT_BUS", EVENT_BUS),
            ("VESTIBULE_EVENTS_ENDPOINT", aws_url),
        ]),
        _ => Variables::new(),
    });
    variables
}

/// All variables of the widget, which gets no address and no secret of the line.
fn widget_variables(aws_url: &str) -> Variables {
    to_variables([
        ("VESTIBULE_ADMIN_FUNCTION", "admin"),
        // This Lambda does not tell a function by which alias it was invoked.
        ("VESTIBULE_WIDGET_ORDERS", "any-name"),
        ("AWS_ENDPOINT_URL_LAMBDA", aws_url),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("RUST_LOG", "warn"),
    ])
}

fn to_variables<const N: usize>(variables: [(&str, &str); N]) -> Variables {
    variables
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// The program of a function.
pub fn function_binary(function: &str) -> PathBuf {
    binaries_dir().join(function)
}

/// The folder of the function binaries: `VESTIBULE_FUNCTIONS_DIR`, or the one built beside this test.
fn binaries_dir() -> &'static PathBuf {
    static BINARIES: OnceLock<PathBuf> = OnceLock::new();
    BINARIES.get_or_init(|| match std::env::var_os("VESTIBULE_FUNCTIONS_DIR") {
        Some(path) => path.into(),
        None => build_programs(),
    })
}
