//! A new version of a function takes over step by step, and goes back if it fails.

use serde_json::{Value, json};
use vestibule_tests::template::read_template;

/// The functions that the API calls, each with the alarm on the failures of its main route.
const FUNCTIONS: [(&str, &str); 5] = [
    ("Document", "DocumentFailuresAlarm"),
    ("Enter", "EnterFailuresAlarm"),
    ("Claim", "ClaimFailuresAlarm"),
    ("Status", "LongPollAlarm"),
    ("Validate", "ValidateFailuresAlarm"),
];

#[test]
fn versions_shift_only_on_aws_and_only_if_published() {
    let template = read_template();
    assert_eq!(template["Parameters"]["VersionShift"]["Default"], "none");
    let shifts = template["Conditions"]["ShiftsVersions"].to_string();
    assert!(shifts.contains("OnAws"), "{shifts}");
    for (function, _) in FUNCTIONS {
        assert_eq!(
            template["Conditions"][format!("{function}Shifts")],
            json!({ "Fn::And": [
                { "Condition": "ShiftsVersions" },
                { "Condition": format!("{function}IsProvisioned") },
            ] })
        );
    }
    let resources = template["Resources"].as_object().expect("resources");
    for (name, resource) in resources {
        if resource["Type"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("AWS::CodeDeploy::"))
        {
            let condition = resource["Condition"].as_str().unwrap_or_default();
            assert!(condition.contains("Shift"), "{name}: {condition}");
        }
    }
}

/// The beginnings of the aliases that separate rights, and serve no visitor.
const OF_OPERATORS: [&str; 2] = ["Widget", "Admin"];

#[test]
fn every_alias_of_the_api_shifts_by_its_own_group() {
    let template = read_template();
    let resources = template["Resources"].as_object().expect("resources");
    let aliases = resources.iter().filter(|(name, resource)| {
        let is_of_operators = OF_OPERATORS.iter().any(|prefix| name.starts_with(prefix));
        resource["Type"] == "AWS::Lambda::Alias" && !is_of_operators
    });
    assert_eq!(aliases.count(), FUNCTIONS.len());
    for (function, _) in FUNCTIONS {
        assert_eq!(
            resources[&format!("{function}Alias")]["UpdatePolicy"],
            json!({ "Fn::If": [
                format!("{function}Shifts"),
                { "CodeDeployLambdaAliasUpdate": {
                    "ApplicationName": { "Ref": "Releases" },
                    "DeploymentGroupName": { "Ref": format!("{function}Releases") },
                } },
                { "Ref": "AWS::NoValue" },
            ] }),
            "{function}"
        );
    }
}

#[test]
fn a_version_that_fails_gives_its_requests_back() {
    let template = read_template();
    for (function, route_alarm) in FUNCTIONS {
        let group = &template["Resources"][format!("{function}Releases")]["Properties"];
        let events = group["AutoRollbackConfiguration"]["Events"]
            .as_array()
            .expect("events");
        assert!(events.contains(&json!("DEPLOYMENT_STOP_ON_ALARM")), "{function}");
        assert_eq!(group["AutoRollbackConfiguration"]["Enabled"], true, "{function}");
        assert_eq!(
            group["AlarmConfiguration"],
            json!({ "Enabled": true, "Alarms": [
                { "Name": { "Ref": format!("{function}ReleaseAlarm") } },
                { "Name": { "Ref": route_alarm } },
            ] }),
            "{function}"
        );
        assert_eq!(
            group["DeploymentConfigName"]["Fn::Sub"], "CodeDeployDefault.Lambda${VersionShift}",
            "{function}"
        );
        // The errors of the new version alone: the former one has nine tenths of the requests.
        let alarm = &template["Resources"][format!("{function}ReleaseAlarm")]["Properties"];
        assert_eq!(alarm["MetricName"], "Errors", "{function}");
        assert_eq!(
            dimension(alarm, "ExecutedVersion")["Fn::GetAtt"],
            format!("{function}Version.Version")
        );
        assert_eq!(
            dimension(alarm, "Resource")["Fn::Sub"],
            format!("${{{function}Function}}:live")
        );
    }
}

fn dimension<'a>(metric: &'a Value, name: &str) -> &'a Value {
    let dimensions = metric["Dimensions"].as_array().expect("dimensions");
    let found = dimensions.iter().find(|dimension| dimension["Name"] == name);
    &found.unwrap_or_else(|| panic!("no dimension {name}"))["Value"]
}

/// The template cannot read the version of the workspace, so it repeats it.
#[test]
fn the_output_says_the_version_of_the_code() {
    let template = read_template();
    assert_eq!(
        template["Outputs"]["Version"]["Value"],
        vestibule_telemetry::version::VERSION
    );
    let variables = &template["Resources"]["AdminFunction"]["Properties"]["Environment"]["Variables"];
    assert_eq!(variables["VESTIBULE_COMMIT"]["Ref"], "Commit");
    // A commit that all functions had would publish each of them anew with every release.
    assert_eq!(template.to_string().matches("VESTIBULE_COMMIT").count(), 1);
}
