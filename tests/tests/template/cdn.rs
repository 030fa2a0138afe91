//! The CDN of the public documents: what it serves, and for how long.

use serde_json::{Value, json};
use vestibule_tests::template::{read_api_document, read_template};

/// How long an answer that there is no document may be kept, in seconds.
const FAILURE_SECONDS_MAX: u64 = 5;

#[test]
fn cdn_is_created_only_if_asked_for_and_only_on_aws() {
    let template = read_template();
    assert_eq!(template["Parameters"]["DocumentCdn"]["Default"], "no");
    let condition = template["Conditions"]["HasCdn"].to_string();
    assert!(condition.contains("OnAws"), "{condition}");
    let resources = template["Resources"].as_object().expect("resources");
    let mut found = 0;
    for (name, resource) in resources {
        if resource["Type"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("AWS::CloudFront::"))
        {
            assert_eq!(resource["Condition"], "HasCdn", "{name}");
            found += 1;
        }
    }
    assert_eq!(found, 4);
    assert_eq!(template["Outputs"]["DocumentUrl"]["Condition"], "HasCdn");
}

/// The path alone is the key. Nothing else that a reader sends reaches the API.
#[test]
fn a_reader_cannot_make_the_cdn_ask_the_api() {
    let template = read_template();
    let policy = &template["Resources"]["CdnCachePolicy"]["Properties"]["CachePolicyConfig"];
    let key = &policy["ParametersInCacheKeyAndForwardedToOrigin"];
    assert_eq!(
        key["QueryStringsConfig"],
        json!({ "QueryStringBehavior": "none" })
    );
    assert_eq!(key["HeadersConfig"], json!({ "HeaderBehavior": "none" }));
    assert_eq!(key["CookiesConfig"], json!({ "CookieBehavior": "none" }));
    let behavior = &distribution(&template)["DefaultCacheBehavior"];
    assert_eq!(behavior["CachePolicyId"]["Ref"], "CdnCachePolicy");
    assert!(behavior["OriginRequestPolicyId"].is_null());
    assert_eq!(behavior["AllowedMethods"], json!(["GET", "HEAD"]));
}

/// The function at the edge lets the path of a queue id pass, as the API defines it. It answers all others.
#[test]
fn cdn_serves_public_documents_and_no_other_route() {
    let (template, document) = (read_template(), read_api_document());
    let distribution = distribution(&template);
    assert!(distribution["CacheBehaviors"].is_null());
    let associations = &distribution["DefaultCacheBehavior"]["FunctionAssociations"];
    assert_eq!(associations[0]["EventType"], "viewer-request");
    assert_eq!(
        associations[0]["FunctionARN"]["Fn::GetAtt"],
        "CdnRoutes.FunctionMetadata.FunctionARN"
    );
    let id = &document["components"]["parameters"]["Queue"]["schema"]["pattern"];
    let id = id
        .as_str()
        .and_then(|pattern| pattern.strip_prefix('^'))
        .expect("a pattern");
    let code = template["Resources"]["CdnRoutes"]["Properties"]["FunctionCode"].as_str();
    let code = code.expect("a text");
    assert!(code.contains(&format!(r"/^\/queues\/{id}/.test(path)")), "{code}");
}

#[test]
fn answers_without_a_document_are_kept_briefly() {
    let template = read_template();
    let kept = distribution(&template)["CustomErrorResponses"]
        .as_array()
        .expect("a list");
    for status in [404, 503] {
        let seconds = kept
            .iter()
            .find(|response| response["ErrorCode"] == status)
            .and_then(|response| response["ErrorCachingMinTTL"].as_u64());
        assert!(
            seconds.is_some_and(|seconds| (1..=FAILURE_SECONDS_MAX).contains(&seconds)),
            "{status}: {seconds:?}"
        );
    }
}

#[test]
fn one_edge_location_asks_the_api_for_all() {
    let template = read_template();
    let origins = distribution(&template)["Origins"].as_array().expect("origins");
    let [origin] = origins.as_slice() else {
        panic!("{} origins", origins.len());
    };
    assert_eq!(origin["OriginShield"]["Enabled"], true);
    assert_eq!(
        origin["OriginShield"]["OriginShieldRegion"],
        json!({ "Fn::If": ["HasShieldRegion", { "Ref": "CdnShieldRegion" }, { "Ref": "AWS::Region" }] })
    );
}

fn distribution(template: &Value) -> &Value {
    &template["Resources"]["Cdn"]["Properties"]["DistributionConfig"]
}
