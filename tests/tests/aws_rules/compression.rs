//! What is compressed on its way to visitors.
//! <https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/ServingCompressedFiles.html>

use serde_json::Value;

use crate::stack::{Stack, items};

/// Whose paths reach an answer about one visitor. It is small, and no cache has it.
const ENTRIES: &str = "/queues/*/entries*";

/// `CloudFront` compresses where the behavior and both switches of its cache policy say so. For a reader beside the
/// distribution, API Gateway does.
pub(crate) fn texts_are_compressed(stack: &Stack<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for (id, api) in stack.of_kind("AWS::ApiGateway::RestApi") {
        if api["MinimumCompressionSize"].is_null() {
            found.push(format!("{id} compresses nothing"));
        }
    }
    for (_, properties) in stack.of_kind("AWS::CloudFront::Distribution") {
        let distribution = &properties["DistributionConfig"];
        let behaviors = items(&distribution["CacheBehaviors"]).into_iter();
        for behavior in behaviors.chain([&distribution["DefaultCacheBehavior"]]) {
            let path = behavior["PathPattern"].as_str().unwrap_or("the default behavior");
            let is_compressed = behavior["Compress"] == true && compresses(stack, &behavior["CachePolicyId"]);
            if is_compressed == (path == ENTRIES) {
                found.push(format!("what {path} serves is compressed: {is_compressed}"));
            }
        }
    }
    found
}

fn compresses(stack: &Stack<'_>, policy: &Value) -> bool {
    let policy = stack.find("AWS::CloudFront::CachePolicy", policy);
    policy.is_some_and(|policy| {
        let key = &policy["CachePolicyConfig"]["ParametersInCacheKeyAndForwardedToOrigin"];
        key["EnableAcceptEncodingGzip"] == true && key["EnableAcceptEncodingBrotli"] == true
    })
}
