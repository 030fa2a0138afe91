//! The authorizer in the template, and the sample API that uses it.

use serde_json::{Value, json};
use vestibule_domain::call_limit::CallLimit;
use vestibule_tests::template::{read_sample_api, read_template};
use vestibule_wire::Code;

#[test]
fn only_authorizers_of_the_account_may_invoke_the_function() {
    let template = read_template();
    let permission = &template["Resources"]["AuthorizerPermission"]["Properties"];
    assert_eq!(permission["FunctionName"]["Ref"], "AuthorizerFunction");
    assert_eq!(permission["Principal"], "apigateway.amazonaws.com");
    assert_eq!(
        permission["SourceArn"]["Fn::Sub"],
        "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:*/authorizers/*"
    );
}

#[test]
fn no_visitor_passes_until_the_owner_names_a_queue() {
    let template = read_template();
    let parameters = &template["Parameters"];
    assert_eq!(parameters["AuthorizerQueues"]["Default"], "");
    let default = |name: &str| {
        let number = parameters[name]["Default"].as_u64().expect("a number");
        u32::try_from(number).expect("small")
    };
    let limit = CallLimit::new(default("AuthorizerCalls"), default("AuthorizerSeconds"));
    assert_eq!(limit, Some(CallLimit::default()));
}

/// A cached result would neither count calls nor see the end of a visit.
#[test]
fn the_sample_caches_no_result() {
    let sample = read_sample_api();
    let resources = &sample["Resources"];
    let authorizers = resources["RestApi"]["Properties"]["Auth"]["Authorizers"].as_object();
    let authorizers: Vec<&Value> = authorizers.expect("authorizers").values().collect();
    assert_eq!(authorizers.len(), 2, "one by REQUEST and one by TOKEN");
    for authorizer in authorizers {
        assert_eq!(authorizer["Identity"]["ReauthorizeEvery"], 0, "{authorizer}");
    }
    let of_http_api = &resources["HttpAuthorizer"]["Properties"];
    assert_eq!(of_http_api["AuthorizerResultTtlInSeconds"], 0);
    assert_eq!(of_http_api["AuthorizerPayloadFormatVersion"], "2.0");
    assert_eq!(of_http_api["EnableSimpleResponses"], json!(true));
}

/// The gateway puts the title of a denial between quotes as it is.
#[test]
fn no_title_needs_an_escape_in_json() {
    for code in Code::ALL {
        let title = code.title();
        assert!(!title.contains(['"', '\\', '$']), "{title}");
    }
}
