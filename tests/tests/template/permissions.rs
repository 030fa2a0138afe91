//! What the functions may do to the table of queues, which holds what operators edit.

use serde_json::{Value, json};
use vestibule_tests::template::read_template;

/// The statements of a role about the table of queues that let it do this.
fn statements(role: &str, action: &str) -> Vec<Value> {
    let template = read_template();
    let policies = &template["Resources"][role]["Properties"]["Policies"];
    let policies = policies.as_array().expect("policies");
    let all = policies.iter().flat_map(|policy| {
        policy["PolicyDocument"]["Statement"]
            .as_array()
            .expect("statements")
    });
    all.filter(|statement| {
        let actions = statement["Action"].as_array().expect("actions");
        let of = statement["Resource"]["Fn::GetAtt"].as_str();
        of == Some("QueuesTable.Arn") && actions.contains(&json!(format!("dynamodb:{action}")))
    })
    .cloned()
    .collect()
}

/// A restore takes a lease and raises the fence, in the promoter or by an order.
#[test]
fn whoever_restores_may_change_a_queues_own_part() {
    for role in ["PromoterRole", "AdminRole"] {
        let statements = statements(role, "UpdateItem");
        assert_eq!(statements.len(), 1, "{role}");
        assert!(statements[0]["Condition"].is_null(), "{role}");
    }
}

/// Those who call drive a line while the promoter is away: they read the fence and raise it.
#[test]
fn functions_that_visitors_call_raise_the_fence_and_change_nothing_else() {
    for role in ["EnterRole", "StatusRole"] {
        assert_eq!(statements(role, "Query").len(), 1, "{role}");
        let statements = statements(role, "UpdateItem");
        assert_eq!(statements.len(), 1, "{role}");
        let attributes = &statements[0]["Condition"]["ForAllValues:StringEquals"]["dynamodb:Attributes"];
        assert_eq!(*attributes, json!(["queue", "part", "epoch", "fence"]), "{role}");
    }
    assert!(
        statements("ValidateRole", "UpdateItem").is_empty(),
        "it does not drive"
    );
    for role in ["EnterRole", "StatusRole", "ValidateRole"] {
        assert!(statements(role, "PutItem").is_empty(), "{role}");
    }
}
