//! The permissions of the functions on the queues table, whose items operators edit.

use serde_json::{Value, json};
use vestibule_tests::template::read_template;

/// The statements of a role that allow an action on the queues table.
fn find_statements(role: &str, action: &str) -> Vec<Value> {
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

/// A restore, in the promoter or by a command, takes a lease and raises the fence.
#[test]
fn functions_that_restore_may_update_queue_metadata() {
    for role in ["PromoterRole", "AdminRole"] {
        let statements = find_statements(role, "UpdateItem");
        assert_eq!(statements.len(), 1, "{role}");
        assert!(statements[0]["Condition"].is_null(), "{role}");
    }
}

/// While the promoter is down, these functions run fallback ticks, which read the fence and raise it.
#[test]
fn functions_that_tick_may_update_only_the_fence() {
    for role in ["DocumentRole", "EnterRole", "StatusRole"] {
        assert_eq!(find_statements(role, "Query").len(), 1, "{role}");
        let statements = find_statements(role, "UpdateItem");
        assert_eq!(statements.len(), 1, "{role}");
        let attributes = &statements[0]["Condition"]["ForAllValues:StringEquals"]["dynamodb:Attributes"];
        assert_eq!(*attributes, json!(["queue", "part", "epoch", "fence"]), "{role}");
    }
    for role in ["ClaimRole", "ValidateRole", "AuthorizerRole"] {
        assert!(
            find_statements(role, "UpdateItem").is_empty(),
            "{role}: its function runs no fallback ticks"
        );
    }
    for role in [
        "DocumentRole",
        "EnterRole",
        "ClaimRole",
        "StatusRole",
        "ValidateRole",
        "AuthorizerRole",
    ] {
        assert!(find_statements(role, "PutItem").is_empty(), "{role}");
    }
}

/// A deletion replaces one item and removes the other in one transaction. The promoter adds the tombstone of a queue whose
/// items were deleted by hand, after a look at both.
#[test]
fn functions_that_delete_queues_may_write_both_items() {
    for (role, actions) in [
        ("AdminRole", &["PutItem", "DeleteItem", "ConditionCheckItem"][..]),
        ("PromoterRole", &["PutItem", "ConditionCheckItem"][..]),
    ] {
        for action in actions {
            assert_eq!(find_statements(role, action).len(), 1, "{role}: {action}");
        }
    }
    assert!(find_statements("PromoterRole", "DeleteItem").is_empty());
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
