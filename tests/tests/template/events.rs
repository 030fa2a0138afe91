//! The bus that is told what changes in the queues.

use serde_json::{Value, json};
use vestibule_domain::queue_event::QueueEventKind;
use vestibule_promoter::event_bus::EVENT_SOURCE;
use vestibule_tests::template::{read_template, read_text};

const BUS_ARN: &str =
    "arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/${EventBusName}";

#[test]
fn no_event_is_sent_unless_a_bus_is_named() {
    let template = read_template();
    assert_eq!(template["Parameters"]["EventBusName"]["Default"], "");
    assert_eq!(
        template["Conditions"]["SendsEvents"],
        json!({ "Fn::Not": [{ "Fn::Equals": [{ "Ref": "EventBusName" }, ""] }] })
    );
    for name in ["EventsPolicy", "EventsInterface", "EventsEndpointSecurityGroup"] {
        let condition = template["Resources"][name]["Condition"].as_str().expect("a name");
        let definition = template["Conditions"][condition].to_string();
        assert!(
            condition == "SendsEvents" || definition.contains("SendsEvents"),
            "{name}: {condition}"
        );
    }
}

#[test]
fn only_the_promoter_sends_events_and_to_this_bus_only() {
    let template = read_template();
    let resources = template["Resources"].as_object().expect("resources");
    let users = |what: &str| -> Vec<&str> {
        let names = resources
            .iter()
            .filter(|(_, resource)| resource.to_string().contains(what));
        names.map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(users("events:PutEvents"), ["EventsInterface", "EventsPolicy"]);
    assert_eq!(users(r#"{"Ref":"EventsPolicy"}"#), ["PromoterRole"]);
    assert_eq!(users("VESTIBULE_EVENT_BUS"), ["PromoterFunction"]);
    for name in ["EventsInterface", "EventsPolicy"] {
        let statements = &resources[name]["Properties"]["PolicyDocument"]["Statement"];
        assert_eq!(statements.as_array().map(Vec::len), Some(1), "{name}");
        assert_eq!(statements[0]["Resource"], json!({ "Fn::Sub": BUS_ARN }), "{name}");
    }
}

/// In a VPC without NAT, the function reaches EventBridge by an endpoint alone.
#[test]
fn network_of_the_stack_has_an_endpoint_of_eventbridge() {
    let template = read_template();
    let interface = &template["Resources"]["EventsInterface"]["Properties"];
    assert_eq!(
        interface["ServiceName"],
        json!({ "Fn::Sub": "com.amazonaws.${AWS::Region}.events" })
    );
    // As for Secrets Manager: it admits only this bus, so in a given network it must not take the service's DNS name.
    assert_eq!(
        interface["PrivateDnsEnabled"],
        json!({ "Fn::If": ["AddsEventsEndpoint", false, true] })
    );
    let variables = &template["Resources"]["PromoterFunction"]["Properties"]["Environment"]["Variables"];
    let endpoint = &variables["VESTIBULE_EVENTS_ENDPOINT"]["Fn::If"];
    assert_eq!(endpoint[0], "AddsEventsEndpoint");
    assert!(endpoint[1].to_string().contains("EventsInterface"));
    assert_eq!(endpoint[2], "");
}

#[test]
fn the_guide_shows_every_event() {
    let guide = read_text("docs/monitoring.md");
    for kind in QueueEventKind::ALL {
        assert!(
            guide.contains(&format!("| `{}` |", kind.detail_type())),
            "{kind:?}"
        );
    }
    // The pattern of the example rule matches.
    let (_, pattern) = guide
        .split_once("--event-pattern '")
        .expect("an example of a rule");
    let (pattern, _) = pattern.split_once('\'').expect("the pattern ends");
    let pattern: Value = serde_json::from_str(pattern).expect("JSON");
    assert_eq!(pattern["source"], json!([EVENT_SOURCE]));
    for detail_type in pattern["detail-type"].as_array().expect("a list") {
        let is_known = QueueEventKind::ALL
            .iter()
            .any(|kind| *detail_type == kind.detail_type());
        assert!(is_known, "{detail_type}");
    }
}
