//! The variables, tables and permissions of the functions, and the alarms and the dashboard.

use std::collections::BTreeSet;

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::{Client, types::BillingMode};
use serde_json::{Value, json};
use vestibule_admin::CHECK_TIME_MAX;
use vestibule_backup_dynamodb::TableNames;
use vestibule_telemetry::metrics;
use vestibule_tests::{
    servers,
    template::{
        for_each_named, read_api_document, read_dashboard, read_rust_sources, read_template, read_text,
        words_with_prefix,
    },
};

/// Variables for a process without Secrets Manager. A deployment has no secret in a variable.
const SECRET_VARIABLES: [&str; 3] = [
    "VESTIBULE_ROOT_KEY",
    "VESTIBULE_SIGNING_KEY",
    "VESTIBULE_ORIGIN_KEY",
];

#[test]
fn template_sets_the_variables_that_the_code_reads() {
    let template = read_template();
    let mut given = BTreeSet::new();
    for_each_named(&template, "Variables", &mut |variables| {
        let names = variables.as_object().expect("variables").keys().cloned();
        given.extend(names.filter(|name| name.starts_with("VESTIBULE_")));
    });
    let mut read: BTreeSet<String> = read_rust_sources("shared")
        .iter()
        // The list of all variables reads none.
        .filter(|source| !source.contains("pub const VARIABLES"))
        .flat_map(|source| words_with_prefix(source, "VESTIBULE_"))
        .collect();
    for name in SECRET_VARIABLES {
        assert!(read.remove(name), "the code does not read {name} any more");
    }
    // Its change alone makes AWS publish a version.
    assert!(given.remove("VESTIBULE_RELEASE"));
    assert_eq!(given, read);
}

#[test]
fn every_function_names_an_existing_binary() {
    let template = read_template();
    let manifest = read_text("functions/Cargo.toml");
    for (name, resource) in resources_of_type(&template, "AWS::Serverless::Function") {
        let binary = &resource["Metadata"]["BuildProperties"]["Binary"];
        let binary_line = format!("name = {binary}");
        assert!(
            manifest.contains(&binary_line),
            "{name}: functions/Cargo.toml has no {binary_line}"
        );
        assert_eq!(resource["Metadata"]["BuildMethod"], "rust-cargolambda", "{name}");
    }
}

#[tokio::test]
async fn template_tables_match_those_that_the_code_creates() {
    servers::dynamodb_backup().await;
    let config = aws_config::defaults(BehaviorVersion::latest())
        .endpoint_url(servers::dynamodb_url())
        .load()
        .await;
    let client = Client::new(&config);
    let names = TableNames::default();
    let template = read_template();
    for (id, name) in [("QueuesTable", &names.queues), ("EntriesTable", &names.entries)] {
        let properties = &template["Resources"][id]["Properties"];
        let answer = client
            .describe_table()
            .table_name(name)
            .send()
            .await
            .expect("the table");
        let table = answer.table().expect("the table");
        let keys: Value = table
            .key_schema()
            .iter()
            .map(|key| json!({ "AttributeName": key.attribute_name(), "KeyType": key.key_type().as_str() }))
            .collect();
        assert_eq!(properties["KeySchema"], keys, "{id}");
        let attributes: Value = table
            .attribute_definitions()
            .iter()
            .map(|a| json!({ "AttributeName": a.attribute_name(), "AttributeType": a.attribute_type().as_str() }))
            .collect();
        assert_eq!(properties["AttributeDefinitions"], attributes, "{id}");
        assert_eq!(
            properties["BillingMode"],
            BillingMode::PayPerRequest.as_str(),
            "{id}"
        );

        let answer = client
            .describe_time_to_live()
            .table_name(name)
            .send()
            .await
            .expect("an answer");
        let attribute = answer
            .time_to_live_description()
            .and_then(|ttl| ttl.attribute_name());
        assert_eq!(
            properties["TimeToLiveSpecification"]["AttributeName"].as_str(),
            attribute,
            "{id}"
        );
    }
}

#[test]
fn tables_and_secrets_outlive_the_stack() {
    let template = read_template();
    for kind in ["AWS::DynamoDB::Table", "AWS::SecretsManager::Secret"] {
        for (name, resource) in resources_of_type(&template, kind) {
            // These open a cache of the stack, and prove its distribution: nothing that outlives the stack.
            if ["NodeCachePassword", "OriginKeySecret"].contains(&name.as_str()) {
                continue;
            }
            assert_eq!(resource["DeletionPolicy"], "RetainExceptOnCreate", "{name}");
        }
    }
    for (name, resource) in resources_of_type(&template, "AWS::DynamoDB::Table") {
        let properties = &resource["Properties"];
        assert_eq!(
            properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"], true,
            "{name}"
        );
        assert_eq!(properties["SSESpecification"]["SSEEnabled"], true, "{name}");
    }
}

#[test]
fn stack_in_a_given_network_does_not_affect_others() {
    let template = read_template();
    let resources = &template["Resources"];
    let tables = &resources["DynamoDbGateway"]["Properties"]["PolicyDocument"]["Fn::If"];
    assert_eq!(tables[0], "MakesNetwork");
    assert_eq!(
        tables[2]["Ref"], "AWS::NoValue",
        "a gateway in a given network serves others too and keeps its policy"
    );
    // This interface admits only the functions, so it must not take the DNS name of the service.
    let secrets = &resources["SecretsInterface"]["Properties"];
    assert_eq!(
        secrets["PrivateDnsEnabled"],
        json!({ "Fn::If": ["AddsEndpoints", false, true] })
    );
    let endpoint = &template["Globals"]["Function"]["Environment"]["Variables"]["VESTIBULE_SECRETS_ENDPOINT"];
    assert_eq!(endpoint["Fn::If"][0], "AddsEndpoints");
    assert!(endpoint["Fn::If"][1].to_string().contains("SecretsInterface"));
}

#[test]
fn every_parameter_is_in_the_guide() {
    let template = read_template();
    let guide = read_text("docs/deploying.md");
    for name in template["Parameters"].as_object().expect("parameters").keys() {
        assert!(guide.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn every_condition_is_used() {
    let (template, document) = (read_template(), read_api_document());
    let mut used = BTreeSet::new();
    for place in [&template, &document] {
        for_each_named(place, "Fn::If", &mut |choice| used.extend(choice[0].as_str()));
        for_each_named(place, "Condition", &mut |name| used.extend(name.as_str()));
    }
    let conditions = template["Conditions"].as_object().expect("conditions");
    for name in conditions.keys() {
        assert!(used.contains(name.as_str()), "the condition {name} is not used");
    }
}

#[test]
fn dashboard_shows_all_metrics() {
    let template = read_template();
    let body = read_dashboard(&template);
    let mut shown = BTreeSet::new();
    for_each_named(&body, "expression", &mut |expression| {
        let search = expression.as_str().expect("a text");
        let name =
            |dimensions| search.strip_prefix(&format!("SEARCH('{{Vestibule,{dimensions}}} MetricName=\""));
        if let Some(rest) = name("Deployment,Queue").or(name("Deployment")) {
            shown.extend(rest.split('"').next().map(str::to_owned));
        }
    });
    let written = metrics::ALL.map(|metric| metric.name);
    assert_eq!(shown, written.map(str::to_owned).into());
}

/// A check finishes the page that it has begun when its time is up.
#[test]
fn admin_timeout_leaves_time_to_finish_a_check() {
    let template = read_template();
    let seconds = template["Resources"]["AdminFunction"]["Properties"]["Timeout"].as_u64();
    let left = seconds.expect("a number").checked_sub(CHECK_TIME_MAX.as_secs());
    assert!(
        left.is_some_and(|seconds| seconds >= 60),
        "the time left is {left:?}"
    );
}

/// The alias names `$LATEST` unless provisioned concurrency is on. A published version would keep the old variables
/// when only a parameter changes.
#[test]
fn api_calls_the_live_alias_of_every_function() {
    let template = read_template();
    let mut called = BTreeSet::new();
    let document = read_text("infra/openapi.yaml");
    for (uri, _) in document.match_indices("/functions/${") {
        let rest = &document[uri + "/functions/${".len()..];
        let (name, rest) = rest.split_once('}').expect("a name ends");
        // Another name is an authorizer that belongs to the owner of the deployment.
        let Some(function) = name.strip_suffix(".Arn") else {
            continue;
        };
        assert!(rest.starts_with(":live/invocations"), "{function}");
        called.insert(function.to_owned());
    }
    for (name, alias) in resources_of_type(&template, "AWS::Lambda::Alias") {
        let properties = &alias["Properties"];
        // These separate rights, and the API does not call them.
        if name.starts_with("Widget") || name.starts_with("Admin") {
            continue;
        }
        assert_eq!(properties["Name"], "live");
        assert_eq!(properties["FunctionVersion"]["Fn::If"][2], "$LATEST", "{name}");
        let function = properties["FunctionName"]["Ref"].as_str().expect("a function");
        assert!(
            called.remove(function),
            "{name}: the API does not call {function}"
        );
        let permissions = resources_of_type(&template, "AWS::Lambda::Permission");
        let allowed = permissions
            .iter()
            .any(|(_, permission)| permission["Properties"]["FunctionName"]["Ref"] == **name);
        assert!(
            allowed,
            "{name}: the gateway has no permission to invoke the alias"
        );
    }
    assert!(called.is_empty(), "functions without an alias: {called:?}");
}

/// The tombstones run out by themselves, by the attribute that the code writes.
#[test]
fn both_tables_delete_what_has_run_out() {
    let template = read_template();
    for table in ["QueuesTable", "EntriesTable"] {
        let time_to_live = &template["Resources"][table]["Properties"]["TimeToLiveSpecification"];
        assert_eq!(
            *time_to_live,
            json!({ "AttributeName": "delete_at_seconds", "Enabled": true }),
            "{table}"
        );
    }
}

fn resources_of_type<'a>(template: &'a Value, kind: &str) -> Vec<(&'a String, &'a Value)> {
    let resources = template["Resources"].as_object().expect("resources");
    resources
        .iter()
        .filter(|(_, resource)| resource["Type"] == kind)
        .collect()
}
