//! The alarms: what they watch, and where they are sent.

use serde_json::{Value, json};
use vestibule_telemetry::metrics;
use vestibule_tests::template::{
    for_each_named, method_settings_path, read_api_document, read_template, read_text,
};

#[test]
fn every_alarm_and_its_end_reach_the_topic() {
    let template = read_template();
    let topic = json!({ "Fn::If": ["HasTopic", [{ "Ref": "AlarmTopicArn" }], { "Ref": "AWS::NoValue" }] });
    for (name, alarm) in alarms(&template) {
        assert_eq!(alarm["AlarmActions"], topic, "{name}");
        assert_eq!(alarm["OKActions"], topic, "{name}");
    }
}

#[test]
fn the_guide_says_what_to_do_about_every_alarm() {
    let guide = read_text("docs/monitoring.md");
    for (name, _) in alarms(&read_template()) {
        assert!(guide.contains(&format!("**{name}**")), "{name}");
    }
}

#[test]
fn alarms_watch_metrics_that_the_functions_write() {
    let template = read_template();
    let written = metrics::ALL.map(|metric| metric.name);
    for (name, alarm) in alarms(&template) {
        let mut watched = vec![alarm];
        for_each_named(alarm, "Metric", &mut |metric| watched.push(metric));
        for metric in watched {
            if metric["Namespace"] == "Vestibule" {
                let metric = metric["MetricName"].as_str().expect("a text");
                assert!(written.contains(&metric), "{name}: {metric}");
            }
        }
    }
}

/// A 429 is an answer to a crowd, not a failure. If refused requests were counted as served, a flood of them would hide
/// the failures.
#[test]
fn every_route_has_an_alarm_on_its_share_of_failures() {
    let (template, document) = (read_template(), read_api_document());
    let settings = &template["Resources"]["Api"]["Properties"]["MethodSettings"];
    let settings = settings.as_array().expect("method settings");
    for (path, item) in document["paths"].as_object().expect("paths") {
        for method in item.as_object().expect("a path").keys() {
            if ["parameters", "options", "head"].contains(&method.as_str()) {
                continue;
            }
            let method = method.to_uppercase();
            let alarm = alarms(&template)
                .into_iter()
                .find(|(_, alarm)| watches_route(alarm, &method, path));
            let (name, alarm) = alarm.unwrap_or_else(|| panic!("{method} {path} has no alarm"));
            assert_eq!(
                alarm["Metrics"][0]["Expression"], "IF(failed >= 5, 100 * failed / (requests - refused), 0)",
                "{name}"
            );
            assert_eq!(alarm["Threshold"], 5, "{name}");
            // API Gateway writes the metrics of a single route only if asked to.
            let resource = method_settings_path(path);
            let is_written = settings.iter().any(|setting| {
                setting["ResourcePath"] == resource
                    && setting["HttpMethod"] == *method
                    && setting["MetricsEnabled"] == true
            });
            assert!(is_written, "{method} {path} writes no metrics");
        }
    }
}

/// Whether an alarm has the failures, the refusals and the number of requests of this route.
fn watches_route(alarm: &Value, method: &str, path: &str) -> bool {
    let metrics = alarm["Metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    [
        ("failed", "5XXError"),
        ("refused", "4XXError"),
        ("requests", "Count"),
    ]
    .into_iter()
    .all(|(id, metric_name)| {
        metrics.iter().any(|metric| {
            let stat = &metric["MetricStat"];
            metric["Id"] == id
                && stat["Stat"] == "Sum"
                && stat["Metric"]["Namespace"] == "AWS/ApiGateway"
                && stat["Metric"]["MetricName"] == metric_name
                && dimension(&stat["Metric"], "Method") == method
                && dimension(&stat["Metric"], "Resource") == path
        })
    })
}

#[test]
fn every_function_and_table_has_an_alarm_on_throttling() {
    let template = read_template();
    for (name, resource) in template["Resources"].as_object().expect("resources") {
        let expected: &[(&str, &str, &str)] = match resource["Type"].as_str() {
            Some("AWS::Serverless::Function") => &[("AWS/Lambda", "Throttles", "FunctionName")],
            Some("AWS::DynamoDB::Table") => &[
                ("AWS/DynamoDB", "ReadThrottleEvents", "TableName"),
                ("AWS/DynamoDB", "WriteThrottleEvents", "TableName"),
            ],
            _ => &[],
        };
        for (namespace, metric, of) in expected {
            let is_watched = alarms(&template).into_iter().any(|(_, alarm)| {
                alarm["Namespace"] == **namespace
                    && alarm["MetricName"] == **metric
                    && dimension(alarm, of)["Ref"] == **name
                    && alarm["Threshold"] == 0
            });
            assert!(is_watched, "{name}: no alarm on {metric}");
        }
    }
}

#[test]
fn either_cache_has_alarms_on_load_and_memory() {
    let template = read_template();
    for (name, condition, metric) in [
        (
            "CacheLoadAlarm",
            "MakesServerlessCache",
            "ElastiCacheProcessingUnits",
        ),
        ("CacheMemoryAlarm", "MakesServerlessCache", "BytesUsedForCache"),
        ("NodeLoadAlarm", "MakesNodeCache", "EngineCPUUtilization"),
        (
            "NodeMemoryAlarm",
            "MakesNodeCache",
            "DatabaseMemoryUsagePercentage",
        ),
    ] {
        let alarm = &template["Resources"][name];
        assert_eq!(alarm["Condition"], condition, "{name}");
        assert_eq!(alarm["Properties"]["Threshold"], 80, "{name}");
        let mut watched = Vec::new();
        for_each_named(alarm, "MetricName", &mut |name| watched.push(name));
        assert!(watched.iter().all(|watched| **watched == metric), "{name}");
        // A failover swaps the nodes, so both are watched.
        let nodes = if condition == "MakesNodeCache" { 2 } else { 1 };
        assert_eq!(watched.len(), nodes, "{name}");
    }
}

#[test]
fn requests_turned_away_are_counted_in_the_access_log() {
    let template = read_template();
    let filter = &template["Resources"]["TooManyRequestsFilter"]["Properties"];
    let alarm = &template["Resources"]["TooManyRequestsAlarm"]["Properties"];
    assert_eq!(filter["FilterPattern"], "{ $.status = \"429\" }");
    assert_eq!(filter["LogGroupName"]["Ref"], "ApiLogGroup");
    // The filter reads this field of the log.
    let format = &template["Resources"]["Api"]["Properties"]["AccessLogSetting"]["Fn::If"][1]["Format"];
    let format = format.as_str().expect("a text");
    assert!(format.contains("\"status\":\"$context.status\""), "{format}");
    let written = &filter["MetricTransformations"][0];
    assert_eq!(written["MetricNamespace"], alarm["Namespace"]);
    assert_eq!(written["MetricName"], alarm["MetricName"]);
}

/// MiniStack refuses a stack with such an alarm.
#[test]
fn alarms_on_expressions_are_left_out_on_emulators() {
    let template = read_template();
    for (name, alarm) in alarms(&template) {
        if alarm["Metrics"].is_array() {
            let condition = template["Resources"][name]["Condition"].as_str();
            // Either cache is created on AWS only.
            assert!(
                matches!(
                    condition,
                    Some("OnAws" | "MakesServerlessCache" | "MakesNodeCache")
                ),
                "{name}: {condition:?}"
            );
        }
    }
}

#[test]
fn thresholds_of_the_line_are_parameters() {
    let template = read_template();
    for (alarm, parameter) in [
        ("WaitingAlarm", "AlarmWaitingEntries"),
        ("WaitAlarm", "AlarmWaitSeconds"),
    ] {
        assert_eq!(
            template["Resources"][alarm]["Properties"]["Threshold"],
            json!({ "Ref": parameter }),
            "{alarm}"
        );
    }
}

#[test]
fn a_single_dead_letter_raises_the_alarm() {
    let template = read_template();
    let alarm = &template["Resources"]["DeadLetterAlarm"]["Properties"];
    assert_eq!(alarm["MetricName"], metrics::DEAD_LETTERED_RECORDS.name);
    assert_eq!(
        (
            &alarm["Threshold"],
            &alarm["ComparisonOperator"],
            &alarm["Statistic"]
        ),
        (&json!(0), &json!("GreaterThanThreshold"), &json!("Maximum"))
    );
}

/// One caller without the claim is no alarm: others have it.
#[test]
fn the_identity_alarm_needs_that_no_claim_was_found() {
    let template = read_template();
    let alarm = &template["Resources"]["IdentityAlarm"]["Properties"];
    assert_eq!(alarm["Metrics"][0]["Expression"], "IF(found == 0, missing, 0)");
    for (number, id, metric) in [
        (1, "missing", metrics::IDENTITIES_MISSING),
        (2, "found", metrics::IDENTITIES_FOUND),
    ] {
        let watched = &alarm["Metrics"][number];
        assert_eq!(watched["Id"], id);
        assert_eq!(watched["MetricStat"]["Metric"]["MetricName"], metric.name);
        assert_eq!(watched["MetricStat"]["Stat"], "Sum");
    }
    assert_eq!(
        (&alarm["Threshold"], &alarm["ComparisonOperator"]),
        (&json!(0), &json!("GreaterThanThreshold"))
    );
}

/// A stack with an authorizer tells its functions so: they refuse a caller without the claim.
#[test]
fn the_functions_know_of_an_authorizer_for_visitors() {
    let template = read_template();
    let routes = &template["Globals"]["Function"]["Environment"]["Variables"]["VESTIBULE_VISITOR_ROUTES"];
    let expected = json!({ "Fn::If": ["VisitorsSign", "iam", { "Fn::If": ["VisitorsHaveKeys", "api-key", {
        "Fn::If": ["VisitorsAreOpen", "open", "authorizer"],
    }] }] });
    assert_eq!(routes, &expected);
}

/// The logical id and the properties of every alarm.
fn alarms(template: &Value) -> Vec<(&str, &Value)> {
    let resources = template["Resources"].as_object().expect("resources");
    resources
        .iter()
        .filter(|(_, resource)| resource["Type"] == "AWS::CloudWatch::Alarm")
        .map(|(name, resource)| (name.as_str(), &resource["Properties"]))
        .collect()
}

/// The value of a dimension of a metric.
fn dimension<'a>(metric: &'a Value, name: &str) -> &'a Value {
    let dimensions = metric["Dimensions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    dimensions
        .iter()
        .find(|dimension| dimension["Name"] == name)
        .map_or(&Value::Null, |dimension| &dimension["Value"])
}
