//! What the functions are given: variables, tables, permissions; and what is watched.

use std::collections::BTreeSet;

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::{Client, types::BillingMode};
use serde_json::{Value, json};
use vestibule_backup_dynamodb::TableNames;
use vestibule_operate::admin::CHECK_TIME_MAX;
use vestibule_telemetry::metrics;
use vestibule_tests::{
    servers,
    template::{document, each, sources, template, text, words_with},
};

/// For a process without Secrets Manager: a deployment has no secret in a variable.
const ELSEWHERE: [&str; 2] = ["VESTIBULE_ROOT_KEY", "VESTIBULE_SIGNING_KEY"];

#[test]
fn functions_are_given_the_variables_that_the_code_reads() {
    let template = template();
    let mut given = BTreeSet::new();
    each(&template, "Variables", &mut |variables| {
        let names = variables.as_object().expect("variables").keys().cloned();
        given.extend(names.filter(|name| name.starts_with("VESTIBULE_")));
    });
    let mut read: BTreeSet<String> = sources("shared/src")
        .iter()
        .flat_map(|source| words_with(source, "VESTIBULE_"))
        .collect();
    for name in ELSEWHERE {
        assert!(read.remove(name), "{name} is not read any more");
    }
    assert_eq!(given, read);
}

#[test]
fn every_function_finds_its_binary() {
    let template = template();
    let manifest = text("functions/Cargo.toml");
    for (name, resource) in of_type(&template, "AWS::Serverless::Function") {
        let binary = &resource["Metadata"]["BuildProperties"]["Binary"];
        let line = format!("name = {binary}");
        assert!(manifest.contains(&line), "{name}: no {line}");
        assert_eq!(resource["Metadata"]["BuildMethod"], "rust-cargolambda", "{name}");
    }
}

#[tokio::test]
async fn the_tables_are_those_that_the_code_makes() {
    servers::dynamodb_backup().await;
    let config = aws_config::defaults(BehaviorVersion::latest())
        .endpoint_url(servers::dynamodb_url())
        .load()
        .await;
    let client = Client::new(&config);
    let names = TableNames::default();
    let template = template();
    for (id, name) in [("QueuesTable", &names.queues), ("EntriesTable", &names.entries)] {
        let said = &template["Resources"][id]["Properties"];
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
        assert_eq!(said["KeySchema"], keys, "{id}");
        let attributes: Value = table
            .attribute_definitions()
            .iter()
            .map(|a| json!({ "AttributeName": a.attribute_name(), "AttributeType": a.attribute_type().as_str() }))
            .collect();
        assert_eq!(said["AttributeDefinitions"], attributes, "{id}");
        assert_eq!(said["BillingMode"], BillingMode::PayPerRequest.as_str(), "{id}");

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
            said["TimeToLiveSpecification"]["AttributeName"].as_str(),
            attribute,
            "{id}"
        );
    }
}

#[test]
fn what_is_kept_outlives_the_stack() {
    let template = template();
    for kind in ["AWS::DynamoDB::Table", "AWS::SecretsManager::Secret"] {
        for (name, resource) in of_type(&template, kind) {
            assert_eq!(resource["DeletionPolicy"], "Retain", "{name}");
            assert_eq!(resource["UpdateReplacePolicy"], "Retain", "{name}");
        }
    }
    for (name, resource) in of_type(&template, "AWS::DynamoDB::Table") {
        let said = &resource["Properties"];
        assert_eq!(
            said["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"], true,
            "{name}"
        );
        assert_eq!(said["SSESpecification"]["SSEEnabled"], true, "{name}");
        assert_eq!(
            said["DeletionProtectionEnabled"]["Ref"], "DeletionProtection",
            "{name}"
        );
    }
}

#[test]
fn permissions_name_what_they_are_for() {
    let template = template();
    let resources = template["Resources"].as_object().expect("resources");
    for (name, resource) in resources {
        let mut all = 0;
        each(resource, "Resource", &mut |of| all += usize::from(of == "*"));
        // Traces have no ARN, and network interfaces are made by Lambda.
        assert_eq!(
            all,
            if name == "RunPolicy" { 2 } else { 0 },
            "{name} has a permission on everything"
        );
    }
    for (name, role) in of_type(&template, "AWS::IAM::Role") {
        each(role, "Action", &mut |action| {
            assert!(!action.to_string().contains('*'), "{name} may do {action}");
        });
    }
}

#[test]
fn what_else_is_in_a_given_network_goes_on_as_before() {
    let template = template();
    let resources = &template["Resources"];
    let tables = &resources["DynamoDbGateway"]["Properties"]["PolicyDocument"]["Fn::If"];
    assert_eq!(tables[0], "MakesNetwork");
    assert_eq!(tables[2]["Ref"], "AWS::NoValue", "it is everybody's way");
    // This one lets in the functions alone, so it must not take the service's name.
    let secrets = &resources["SecretsInterface"]["Properties"];
    assert_eq!(
        secrets["PrivateDnsEnabled"],
        json!({ "Fn::If": ["AddsEndpoints", false, true] })
    );
    let asked = &template["Globals"]["Function"]["Environment"]["Variables"]["VESTIBULE_SECRETS_ENDPOINT"];
    assert_eq!(asked["Fn::If"][0], "AddsEndpoints");
    assert!(asked["Fn::If"][1].to_string().contains("SecretsInterface"));
}

#[test]
fn a_cache_in_other_subnets_has_another_name() {
    let template = template();
    let name = &template["Resources"]["Cache"]["Properties"]["ServerlessCacheName"];
    for subnet in ["SubnetIds", "SubnetA"] {
        let mut named = false;
        each(name, "Ref", &mut |of| named |= of == subnet);
        assert!(named, "{subnet}");
    }
}

#[test]
fn every_parameter_is_in_the_guide() {
    let template = template();
    let guide = text("docs/deploying.md");
    for name in template["Parameters"].as_object().expect("parameters").keys() {
        assert!(guide.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn every_condition_is_used() {
    let (template, document) = (template(), document());
    let mut used = BTreeSet::new();
    for place in [&template, &document] {
        each(place, "Fn::If", &mut |choice| used.extend(choice[0].as_str()));
        each(place, "Condition", &mut |name| used.extend(name.as_str()));
    }
    let conditions = template["Conditions"].as_object().expect("conditions");
    for name in conditions.keys() {
        assert!(used.contains(name.as_str()), "{name} is not used");
    }
}

#[test]
fn every_metric_is_shown_and_alarms_watch_none_that_is_not_written() {
    let template = template();
    let body = &template["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"];
    let body: Value = serde_json::from_str(body.as_str().expect("a text")).expect("JSON");
    let mut shown = BTreeSet::new();
    each(&body, "expression", &mut |expression| {
        let search = expression.as_str().expect("a text");
        if let Some(rest) = search.strip_prefix("SEARCH('{Vestibule,Deployment,Queue} MetricName=\"") {
            shown.extend(rest.split('"').next().map(str::to_owned));
        }
    });
    let written = metrics::ALL.map(|metric| metric.name);
    assert_eq!(shown, written.map(str::to_owned).into());
    let alarms = of_type(&template, "AWS::CloudWatch::Alarm");
    assert_eq!(alarms.len(), 8);
    let of_what = |alarm: &&Value| alarm["Properties"]["MetricName"] == metrics::DEAD_LETTERED_RECORDS.name;
    let aside = alarms.iter().map(|(_, alarm)| *alarm).find(of_what);
    let said = &aside.expect("an alarm on what is set aside")["Properties"];
    assert_eq!(
        (
            &said["Threshold"],
            &said["ComparisonOperator"],
            &said["Statistic"]
        ),
        (&json!(0), &json!("GreaterThanThreshold"), &json!("Maximum")),
        "a single one is enough"
    );
    for (name, alarm) in alarms {
        let said = &alarm["Properties"];
        if said["Namespace"] == "Vestibule" {
            assert!(
                written.contains(&said["MetricName"].as_str().expect("a text")),
                "{name}"
            );
        }
    }
}

/// What a check has begun when its time is up is brought to its end.
#[test]
fn an_order_to_check_has_time_to_end() {
    let template = template();
    let seconds = template["Resources"]["AdminFunction"]["Properties"]["Timeout"].as_u64();
    let left = seconds.expect("a number").checked_sub(CHECK_TIME_MAX.as_secs());
    assert!(left.is_some_and(|seconds| seconds >= 60), "{left:?}");
}

/// A version that SAM publishes would keep the old variables where a parameter alone has changed.
#[test]
fn what_the_api_calls_is_the_latest_unless_it_is_started_ahead() {
    let template = template();
    let mut called = BTreeSet::new();
    let document = text("infra/openapi.yaml");
    for (uri, _) in document.match_indices("/functions/${") {
        let rest = &document[uri + "/functions/${".len()..];
        let (name, rest) = rest.split_once('}').expect("a name ends");
        // Else it is an authorizer of the owner's.
        let Some(function) = name.strip_suffix(".Arn") else {
            continue;
        };
        assert!(rest.starts_with(":live/invocations"), "{function}");
        called.insert(function.to_owned());
    }
    for (name, alias) in of_type(&template, "AWS::Lambda::Alias") {
        let said = &alias["Properties"];
        assert_eq!(said["Name"], "live");
        assert_eq!(said["FunctionVersion"]["Fn::If"][2], "$LATEST", "{name}");
        let function = said["FunctionName"]["Ref"].as_str().expect("a function");
        assert!(called.remove(function), "{name}: nobody calls {function}");
        let permissions = of_type(&template, "AWS::Lambda::Permission");
        let allowed = permissions
            .iter()
            .any(|(_, permission)| permission["Properties"]["FunctionName"]["Ref"] == **name);
        assert!(allowed, "{name}: the gateway may not call it");
    }
    assert!(called.is_empty(), "no alias: {called:?}");
}

fn of_type<'a>(template: &'a Value, kind: &str) -> Vec<(&'a String, &'a Value)> {
    let resources = template["Resources"].as_object().expect("resources");
    resources
        .iter()
        .filter(|(_, resource)| resource["Type"] == kind)
        .collect()
}
