//! The CDN: what it serves, from where, and for how long.

use regex_lite::Regex;
use serde_json::{Value, json};
use vestibule_api::page::FILES;
use vestibule_tests::template::{read_api_documentation, read_template};

/// How long an answer that there is no document may be kept, in seconds.
const FAILURE_SECONDS_MAX: u64 = 5;

#[test]
fn cdn_is_created_by_default_and_only_on_aws() {
    let template = read_template();
    assert_eq!(template["Parameters"]["Distribution"]["Default"], "yes");
    let condition = template["Conditions"]["HasCdn"].to_string();
    assert!(condition.contains("OnAws"), "{condition}");
    let resources = template["Resources"].as_object().expect("resources");
    let mut found = 0;
    for (name, resource) in resources {
        let kind = resource["Type"].as_str().expect("a type");
        if kind.starts_with("AWS::CloudFront::") || kind.starts_with("AWS::S3::") {
            assert_eq!(resource["Condition"], "HasCdn", "{name}");
            found += 1;
        }
    }
    assert_eq!(found, 12);
}

/// The path alone is the key of what many visitors read. Nothing else that a reader sends makes the CDN ask the API.
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
    for path in [
        "/",
        "/queues/demo:1",
        "/.well-known/jwks.json",
        "/theme.css",
        "/shop/theme.json",
    ] {
        assert_eq!(
            behavior(&template, path)["CachePolicyId"]["Ref"],
            "CdnCachePolicy",
            "{path}"
        );
    }
    let document = behavior(&template, "/queues/demo:1");
    assert!(document["OriginRequestPolicyId"].is_null());
    assert_eq!(document["AllowedMethods"], json!(["GET", "HEAD"]));
}

/// An answer that is kept for all depends on nothing that the cache does not tell apart: the function at the edge takes away
/// what the API would get of one visitor.
#[test]
fn an_answer_for_all_depends_on_nothing_of_one_visitor() {
    let template = read_template();
    let distribution = distribution(&template);
    let behaviors = distribution["CacheBehaviors"].as_array().expect("behaviors");
    let kept_for_all = behaviors
        .iter()
        .chain([&distribution["DefaultCacheBehavior"]])
        .filter(|behavior| behavior["CachePolicyId"]["Ref"] != "CdnEntriesPolicy")
        .filter(|behavior| !behavior["OriginRequestPolicyId"].is_null());
    let mut found = 0;
    for behavior in kept_for_all {
        let function = &behavior["FunctionAssociations"][0];
        assert_eq!(function["EventType"], "viewer-request");
        assert_eq!(
            function["FunctionARN"]["Fn::GetAtt"], "CdnPageRoutes.FunctionMetadata.FunctionARN",
            "{behavior}"
        );
        found += 1;
    }
    assert_eq!(found, 1);
    let code = template["Resources"]["CdnPageRoutes"]["Properties"]["FunctionCode"].as_str();
    let code = code.expect("a text");
    assert!(
        code.contains("querystring = {}") && code.contains("cookies = {}"),
        "{code}"
    );
    let policy = &template["Resources"]["CdnRequestPolicy"]["Properties"]["OriginRequestPolicyConfig"];
    let headers = policy["HeadersConfig"]["Headers"].as_array().expect("headers");
    for header in headers.iter().filter_map(Value::as_str) {
        // CloudFront adds it behind the function.
        let is_added_later = header.starts_with("CloudFront-");
        let quoted = format!("'{}'", header.to_lowercase());
        assert!(is_added_later || code.contains(&quoted), "{header}: {code}");
    }
}

/// No answer about an entry is kept, and the API gets what it needs of the visitor's request.
#[test]
fn requests_about_entries_go_to_the_api_with_all_that_it_reads() {
    let template = read_template();
    for path in ["/queues/demo:1/entries", "/queues/demo:1/entries/x/claim"] {
        let entries = behavior(&template, path);
        assert_eq!(entries["TargetOriginId"], "entries", "{path}");
        assert_eq!(entries["CachePolicyId"]["Ref"], "CdnEntriesPolicy", "{path}");
        assert_eq!(
            entries["OriginRequestPolicyId"]["Ref"], "CdnRequestPolicy",
            "{path}"
        );
        assert!(entries["AllowedMethods"].to_string().contains("DELETE"), "{path}");
    }
    let policy = &template["Resources"]["CdnEntriesPolicy"]["Properties"]["CachePolicyConfig"];
    assert_eq!((&policy["MinTTL"], &policy["DefaultTTL"]), (&json!(0), &json!(0)));
    let key = &policy["ParametersInCacheKeyAndForwardedToOrigin"]["HeadersConfig"]["Headers"];
    assert!(key.as_array().expect("headers").contains(&json!("Authorization")));
    let request = &template["Resources"]["CdnRequestPolicy"]["Properties"]["OriginRequestPolicyConfig"];
    let headers = request["HeadersConfig"]["Headers"].as_array().expect("headers");
    // More than ten need a quota of AWS.
    assert!(headers.len() <= 10, "{headers:?}");
    for name in [
        "Accept-Language",
        "CloudFront-Viewer-Address",
        "Content-Type",
        "Origin",
        "X-Vestibule-Host",
    ] {
        assert!(headers.contains(&json!(name)), "{name}");
    }
    assert!(
        !headers.contains(&json!("Host")),
        "the gateway answers to its own host only"
    );
    assert_eq!(request["CookiesConfig"]["CookieBehavior"], "all");
}

/// The function at the edge lets the path of a queue id pass, as the API defines it. It answers all others.
#[test]
fn public_documents_have_the_path_of_a_queue_id() {
    let (template, document) = (read_template(), read_api_documentation());
    let associations = &behavior(&template, "/queues/demo:1")["FunctionAssociations"];
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

/// The page comes from the function, and a theme from the bucket if it has the file.
#[test]
fn page_and_themes_come_from_one_origin() {
    let template = read_template();
    assert_eq!(behavior(&template, "/shop/")["TargetOriginId"], "api");
    let group = &distribution(&template)["OriginGroups"]["Items"][0];
    let members = &group["Members"]["Items"];
    assert_eq!(
        (&members[0]["OriginId"], &members[1]["OriginId"]),
        (&json!("themes"), &json!("api"))
    );
    for file in ["theme.css", "theme.json"] {
        assert_eq!(
            behavior(&template, &format!("/{file}"))["TargetOriginId"],
            group["Id"],
            "{file}"
        );
    }
    for function in ["CdnPageRoutes", "CdnViewerHost"] {
        let code = template["Resources"][function]["Properties"]["FunctionCode"].as_str();
        let copied = "request.headers['x-vestibule-host'] = { value: request.headers.host.value }";
        assert!(code.is_some_and(|code| code.contains(copied)), "{function}");
    }
}

/// The function at the edge knows the languages that ship.
#[test]
fn the_edge_serves_the_page_in_every_language() {
    let template = read_template();
    let code = template["Resources"]["CdnPageRoutes"]["Properties"]["FunctionCode"].as_str();
    let pages = FILES
        .iter()
        .filter_map(|(path, ..)| path.strip_prefix("pages/")?.strip_suffix(".html"));
    let quoted: Vec<_> = pages.map(|language| format!("'{language}'")).collect();
    let listed = format!("var LANGUAGES = [{}];", quoted.join(", "));
    assert!(code.is_some_and(|code| code.contains(&listed)), "{listed}");
}

#[test]
fn distribution_proves_itself_by_a_secret_of_the_stack_unless_there_is_another() {
    let template = read_template();
    for id in ["api", "entries"] {
        let header = &origin(&template, id)["OriginCustomHeaders"][0];
        assert_eq!(header["HeaderName"], "X-Vestibule-Origin", "{id}");
        assert_eq!(header["HeaderValue"]["Fn::If"][0], "MakesOriginKey", "{id}");
    }
    assert_eq!(
        template["Resources"]["OriginKeySecret"]["Condition"],
        "MakesOriginKey"
    );
    let variables = &template["Resources"]["EnterFunction"]["Properties"]["Environment"]["Variables"];
    assert_eq!(
        variables["VESTIBULE_ORIGIN_KEY_SECRET"],
        json!({ "Fn::If": ["MakesOriginKey", { "Ref": "OriginKeySecret" }, { "Ref": "OriginKeySecretArn" }] })
    );
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
    let shield = &origin(&template, "api")["OriginShield"];
    assert_eq!(shield["Enabled"], true);
    assert_eq!(
        shield["OriginShieldRegion"],
        json!({ "Fn::If": [
            "HasShieldRegion",
            { "Ref": "CdnShieldRegion" },
            { "Fn::FindInMap": ["Shields", { "Ref": "AWS::Region" }, "Nearest"] },
        ] })
    );
}

/// Origin Shield charges for each request that it passes on, and no cache answers those about entries.
#[test]
fn requests_about_entries_pay_for_no_shield() {
    let template = read_template();
    let (cached, entries) = (origin(&template, "api"), origin(&template, "entries"));
    assert!(entries["OriginShield"].is_null());
    for same in ["DomainName", "OriginPath", "CustomOriginConfig"] {
        assert_eq!(entries[same], cached[same], "{same}");
    }
}

/// The origin of the CDN with this id.
fn origin<'a>(template: &'a Value, id: &str) -> &'a Value {
    let origins = distribution(template)["Origins"].as_array().expect("origins");
    origins
        .iter()
        .find(|origin| origin["Id"] == id)
        .expect("the origin")
}

/// The behavior of the CDN for a path: the first one whose pattern matches.
fn behavior<'a>(template: &'a Value, path: &str) -> &'a Value {
    let distribution = distribution(template);
    let behaviors = distribution["CacheBehaviors"].as_array().expect("behaviors");
    let matches = |behavior: &&Value| {
        let pattern = behavior["PathPattern"].as_str().expect("a text");
        let pattern = pattern.replace('.', r"\.").replace('*', ".*");
        let pattern = Regex::new(&format!("^{pattern}$")).expect("a regular expression");
        pattern.is_match(path)
    };
    behaviors
        .iter()
        .find(matches)
        .unwrap_or(&distribution["DefaultCacheBehavior"])
}

fn distribution(template: &Value) -> &Value {
    &template["Resources"]["Cdn"]["Properties"]["DistributionConfig"]
}
