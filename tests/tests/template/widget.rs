//! The widget of the queues in the dashboard, who may give its orders, and the budget.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vestibule_tests::template::{read_dashboard, read_template};

#[test]
fn the_widget_is_on_top_and_nothing_overlaps() {
    let template = read_template();
    let body = read_dashboard(&template);
    let widgets = body["widgets"].as_array().expect("widgets");
    let custom = &widgets[0];
    assert_eq!(custom["type"], "custom");
    assert_eq!(
        (&custom["x"], &custom["y"], &custom["width"]),
        (&json!(0), &json!(0), &json!(24))
    );
    assert_eq!(custom["properties"]["endpoint"], "${WidgetFunction.Arn}");
    assert_eq!(custom["properties"]["updateOn"]["refresh"], true);
    let side = |widget: &Value, name: &str| widget[name].as_u64().expect("a number");
    for (at, one) in widgets.iter().enumerate() {
        assert!(side(one, "x") + side(one, "width") <= 24, "{one}");
        for other in &widgets[at + 1..] {
            let apart = |start: &str, size: &str| {
                side(one, start) + side(one, size) <= side(other, start)
                    || side(other, start) + side(other, size) <= side(one, start)
            };
            assert!(
                apart("x", "width") || apart("y", "height"),
                "{one} overlaps {other}"
            );
        }
    }
}

/// The function reaches the line and the tables through the admin function alone.
#[test]
fn the_widget_may_only_invoke_the_admin_function() {
    let template = read_template();
    let role = &template["Resources"]["WidgetRole"]["Properties"];
    assert!(role["ManagedPolicyArns"].is_null());
    let statements = &role["Policies"][0]["PolicyDocument"]["Statement"];
    assert_eq!(
        *statements,
        json!([
            {
                "Effect": "Allow",
                "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
                "Resource": { "Fn::GetAtt": "WidgetLogGroup.Arn" },
            },
            {
                "Effect": "Allow",
                "Action": ["lambda:InvokeFunction"],
                "Resource": { "Ref": "AdminOperateAlias" },
            },
        ])
    );
    let function = &template["Resources"]["WidgetFunction"];
    // In a VPC it would need an endpoint of Lambda. The variables of the others have the address of the line.
    assert_eq!(function["IgnoreGlobals"], json!(["VpcConfig", "Environment"]));
    let variables = function["Properties"]["Environment"]["Variables"]
        .as_object()
        .expect("variables");
    let names: BTreeSet<_> = variables.keys().map(String::as_str).collect();
    let expected = [
        "RUST_LOG",
        "VESTIBULE_ADMIN_FUNCTION",
        "VESTIBULE_DEPLOYMENT",
        "VESTIBULE_WIDGET_ORDERS",
    ];
    assert_eq!(names, BTreeSet::from(expected));
}

#[test]
fn orders_have_a_name_of_their_own_for_iam() {
    let template = read_template();
    let alias = &template["Resources"]["WidgetOrdersAlias"]["Properties"];
    assert_eq!(alias["FunctionName"]["Ref"], "WidgetFunction");
    assert_eq!(alias["Name"], vestibule_widget::ORDERS_ALIAS);
    let variables = &template["Resources"]["WidgetFunction"]["Properties"]["Environment"]["Variables"];
    assert_eq!(
        variables["VESTIBULE_WIDGET_ORDERS"],
        json!({ "Fn::If": ["OnAws", "alias", "any-name"] })
    );
    // No resource policy opens the function to others: only identities of the account with the permission invoke it.
    for resource in template["Resources"].as_object().expect("resources").values() {
        if resource["Type"] == "AWS::Lambda::Permission" {
            assert!(!resource.to_string().contains("Widget"), "{resource}");
        }
    }
    assert_eq!(
        template["Outputs"]["WidgetFunctionArn"]["Value"]["Fn::GetAtt"],
        "WidgetFunction.Arn"
    );
    assert_eq!(
        template["Outputs"]["WidgetOrdersArn"]["Value"]["Ref"],
        "WidgetOrdersAlias"
    );
}

#[test]
fn nothing_of_the_widget_exists_without_it() {
    let template = read_template();
    for section in ["Resources", "Outputs"] {
        for (name, item) in template[section].as_object().expect("a section") {
            if name.starts_with("Widget") {
                assert_eq!(item["Condition"], "HasWidget", "{name}");
            }
        }
    }
}

#[test]
fn budget_counts_the_stack_alone_and_only_if_wanted() {
    let template = read_template();
    assert_eq!(template["Parameters"]["MonthlyBudgetDollars"]["Default"], 0);
    let budget = &template["Resources"]["Budget"];
    assert_eq!(budget["Condition"], "HasBudget");
    let properties = &budget["Properties"]["Budget"];
    assert_eq!(properties["BudgetLimit"]["Amount"]["Ref"], "MonthlyBudgetDollars");
    assert_eq!(
        properties["CostFilters"]["TagKeyValue"],
        json!([{ "Fn::Join": ["", ["aws:cloudformation:stack-name", "$", { "Ref": "AWS::StackName" }]] }])
    );
    let notifications = budget["Properties"]["NotificationsWithSubscribers"]
        .as_array()
        .expect("a list");
    let kinds: Vec<_> = notifications
        .iter()
        .map(|one| &one["Notification"]["NotificationType"])
        .collect();
    assert_eq!(kinds, ["ACTUAL", "FORECASTED"]);
}
