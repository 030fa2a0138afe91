//! The success rates of entering and of validating on the dashboard.

use serde_json::{Value, json};
use vestibule_tests::template::{read_dashboard, read_template, read_text};

/// A route with a panel: the title of the panel, the resource, the filter that counts its 429s.
const ROUTES: [(&str, &str, &str); 2] = [
    ("Entering", "/queues/{queue}/entries", "EnterTooManyRequests"),
    (
        "Validate",
        "/queues/{queue}/entries/{token}/validate",
        "ValidateTooManyRequests",
    ),
];

/// The entries of the panel whose title begins with these words: the metrics, and the expressions by their ids.
fn read_panel(title: &str) -> Vec<Value> {
    let template = read_template();
    let body = read_dashboard(&template);
    let widgets = body["widgets"].as_array().expect("widgets");
    let is_it = |widget: &&Value| {
        let text = widget["properties"]["title"].as_str().unwrap_or_default();
        text.starts_with(title) && text.contains("success rate")
    };
    let panel = widgets
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no panel: {title}"));
    panel["properties"]["metrics"]
        .as_array()
        .expect("metrics")
        .clone()
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// The expression of a line of the panel.
fn expression(panel: &[Value], id: &str) -> String {
    let line = panel.iter().find(|entry| entry[0]["id"] == id);
    let line = line.unwrap_or_else(|| panic!("no line {id}"));
    text_of(&line[0]["expression"])
}

#[test]
fn success_is_the_share_of_2xx_without_the_429s() {
    for (title, resource, filter) in ROUTES {
        let panel = read_panel(title);
        for (id, metric) in [
            ("requests", "Count"),
            ("refused", "4XXError"),
            ("failed", "5XXError"),
        ] {
            let expected = json!([
                "AWS/ApiGateway", metric, "ApiName", "${AWS::StackName}", "Stage", "${StageName}",
                "Method", "POST", "Resource", resource, { "id": id, "stat": "Sum", "visible": false },
            ]);
            assert!(panel.contains(&expected), "{title}: {id}");
        }
        let counted = json!([
            "VestibuleApi", format!("${{AWS::StackName}}-{filter}"),
            { "id": "counted", "stat": "Sum", "visible": false },
        ]);
        assert!(panel.contains(&counted), "{title}: counted");
        for (id, expected) in [
            // CloudWatch has the gateway's own metrics a little earlier than those of the access log.
            ("too_many", "FILL(counted, 0)"),
            ("served", "requests - too_many"),
            ("success", "100 * (requests - refused - failed) / served"),
            ("refusals", "100 * (refused - too_many) / served"),
            ("failures", "100 * failed / served"),
            ("turned_away", "100 * too_many / requests"),
        ] {
            assert_eq!(expression(&panel, id), expected, "{title}: {id}");
        }
    }
}

#[test]
fn filters_count_the_429s_of_their_routes_in_the_access_log() {
    let template = read_template();
    let format = &template["Resources"]["Api"]["Properties"]["AccessLogSetting"]["Fn::If"][1]["Format"];
    let format = text_of(format);
    for field in [
        r#""method":"$context.httpMethod""#,
        r#""route":"$context.resourcePath""#,
    ] {
        assert!(format.contains(field), "the filters read {field}");
    }
    for (_, resource, filter) in ROUTES {
        let resource_name = format!("{filter}Filter");
        assert_eq!(template["Resources"][&resource_name]["Condition"], "LogsAccess");
        let properties = &template["Resources"][&resource_name]["Properties"];
        assert_eq!(properties["LogGroupName"]["Ref"], "ApiLogGroup");
        assert_eq!(
            properties["FilterPattern"],
            format!(r#"{{ $.status = "429" && $.method = "POST" && $.route = "{resource}" }}"#)
        );
        let written = &properties["MetricTransformations"][0];
        assert_eq!(written["MetricNamespace"], "VestibuleApi");
        let name = format!("${{AWS::StackName}}-{filter}");
        assert_eq!(written["MetricName"], json!({ "Fn::Sub": name }));
    }
}

#[test]
fn the_guide_explains_each_metric_of_the_access_log() {
    let guide = read_text("docs/monitoring.md");
    let template = read_template();
    let resources = template["Resources"].as_object().expect("resources");
    let filters = resources
        .iter()
        .filter(|(_, resource)| resource["Type"] == "AWS::Logs::MetricFilter");
    for (name, _) in filters {
        let metric = name.strip_suffix("Filter").expect("the name of a filter");
        assert!(guide.contains(&format!("`{metric}`")), "{metric}");
    }
}
