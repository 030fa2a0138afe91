//! The web ACL of the API: which requests its rules count.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use regex_lite::Regex;
use serde_json::Value;
use vestibule_tests::template::{read_api_document, read_template};

#[test]
fn the_rate_rule_counts_entering_and_no_other_route() {
    let scope = rate_statement()["ScopeDownStatement"].clone();
    let document = read_api_document();
    let mut counted = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for method in operations.as_object().expect("operations").keys() {
            let method = method.to_uppercase();
            let used = path
                .replace("{queue}", "TIMEDEAL:123")
                .replace("{token}", "0190-entries");
            // The gateway's own host name has the stage in its paths. The owner's domain name has not.
            let matches = [format!("/v1{used}"), used].map(|used| counts(&scope, &method, &used));
            assert_eq!(matches[0], matches[1], "{method} {path}");
            if matches[0] {
                counted.insert(format!("{method} {path}"));
            }
        }
    }
    assert_eq!(
        counted,
        BTreeSet::from(["POST /queues/{queue}/entries".to_owned()])
    );
}

/// The gateway decodes a path and ignores a slash at its end, so these requests enter too.
#[test]
fn the_rate_rule_counts_entering_however_the_path_is_written() {
    let scope = rate_statement()["ScopeDownStatement"].clone();
    for path in [
        "/v1/queues/demo/entries/",
        "/v1/queues/demo/entries//",
        "/v1/queues/demo/entrie%73",
        "/v1/queues/demo/%65ntries/",
        "/v1/queues/demo%2Fentries",
        "/v1/queues/demo/entries%2f",
        "/v1/queues/demo//entries/.",
        "/v1/queues/demo/entries/token/..",
    ] {
        assert!(counts(&scope, "POST", path), "{path}");
    }
    assert!(!counts(&scope, "POST", "/v1/queues/entries/load"));
    assert!(!counts(&scope, "GET", "/v1/queues/demo/entries"));
}

#[test]
fn the_acl_is_of_the_region_and_asks_the_reputation_list_first() {
    let template = read_template();
    let acl = &template["Resources"]["Waf"];
    assert_eq!(acl["Condition"], "HasWaf");
    assert_eq!(acl["Properties"]["Scope"], "REGIONAL");
    let rules = acl["Properties"]["Rules"].as_array().expect("rules");
    let first = rules
        .iter()
        .min_by_key(|rule| rule["Priority"].as_u64())
        .expect("a rule");
    let group = &first["Statement"]["ManagedRuleGroupStatement"];
    assert_eq!(group["VendorName"], "AWS");
    assert_eq!(group["Name"], "AWSManagedRulesAmazonIpReputationList");
    // The group blocks by itself. Another override would only count.
    assert!(first["OverrideAction"]["None"].is_object());
    let priorities: BTreeSet<_> = rules.iter().map(|rule| rule["Priority"].as_u64()).collect();
    assert_eq!(
        priorities.len(),
        rules.len(),
        "AWS refuses two rules of one priority"
    );
}

fn rate_statement() -> Value {
    let template = read_template();
    let rules = template["Resources"]["Waf"]["Properties"]["Rules"].clone();
    let rules = rules.as_array().expect("rules");
    let rate = rules
        .iter()
        .map(|rule| &rule["Statement"]["RateBasedStatement"])
        .find(|rate| rate.is_object());
    let rate = rate.expect("a rate rule").clone();
    assert_eq!(rate["Limit"]["Ref"], "WafEntriesPerFiveMinutes");
    rate
}

/// Whether a statement of WAF matches a request. This knows the statements that the template uses.
fn counts(statement: &Value, method: &str, path: &str) -> bool {
    let (kind, statement) = statement
        .as_object()
        .expect("a statement")
        .iter()
        .next()
        .expect("its kind");
    let value = || transform(field(statement, method, path), &statement["TextTransformations"]);
    match kind.as_str() {
        "AndStatement" => statement["Statements"]
            .as_array()
            .expect("statements")
            .iter()
            .all(|statement| counts(statement, method, path)),
        "NotStatement" => !counts(&statement["Statement"], method, path),
        // The condition is that a distribution stands before the API.
        "Fn::If" => counts(&statement[1], method, path),
        "ByteMatchStatement" => {
            assert_eq!(statement["PositionalConstraint"], "EXACTLY");
            statement["SearchString"] == value()
        }
        "RegexMatchStatement" => Regex::new(statement["RegexString"].as_str().expect("a text"))
            .expect("a regular expression")
            .is_match(&value()),
        other => panic!("this test does not know {other}"),
    }
}

fn field<'a>(statement: &Value, method: &'a str, path: &'a str) -> &'a str {
    let field = statement["FieldToMatch"].as_object().expect("a field");
    match field.keys().next().expect("its name").as_str() {
        "Method" => method,
        "UriPath" => path,
        // A request that reaches the API without the distribution has no header of it.
        "SingleHeader" => "",
        other => panic!("this test does not know {other}"),
    }
}

fn transform(text: &str, transformations: &Value) -> String {
    let mut transformations = transformations.as_array().expect("transformations").clone();
    transformations.sort_by_key(|transformation| transformation["Priority"].as_u64());
    let mut text = text.to_owned();
    for transformation in transformations {
        text = match transformation["Type"].as_str().expect("a name") {
            "NONE" => text,
            "URL_DECODE" => percent_decode_str(&text).decode_utf8_lossy().into_owned(),
            "NORMALIZE_PATH" => normalize_path(&text),
            other => panic!("this test does not know {other}"),
        };
    }
    text
}

/// Removes repeated slashes and the references to the same and the parent folder.
fn normalize_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    let end = if path.ends_with('/') { "/" } else { "" };
    format!("/{}{end}", segments.join("/"))
}
