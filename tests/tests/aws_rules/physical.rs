//! The names, ARNs and other attributes that AWS gives the resources of a stack, as far as a policy or another resource
//! looks at their form. The forms are those of the "Return values" in the `CloudFormation` reference of each type.

use serde_json::{Value, json};

use crate::stack::{ACCOUNT, Stack, text_of};

/// What `Ref` returns for a resource.
pub(crate) fn name_of(stack: &Stack<'_>, id: &str, resource: &Value) -> String {
    let property = |name: &str| {
        stack
            .resolve(&resource["Properties"][name])
            .map(|value| text_of(&value))
            .unwrap_or_default()
    };
    let own = |name: &str| {
        Some(property(name))
            .filter(|own| !own.is_empty())
            .unwrap_or_else(|| Stack::generated_name(id))
    };
    match resource["Type"].as_str().unwrap_or_default() {
        "AWS::SecretsManager::Secret" => stack.arn("secretsmanager", &format!("secret:{id}-AbCdEf")),
        "AWS::IAM::ManagedPolicy" => format!("arn:aws:iam::{ACCOUNT}:policy/{}", Stack::generated_name(id)),
        "AWS::Lambda::Alias" => stack.arn(
            "lambda",
            &format!("function:{}:{}", property("FunctionName"), property("Name")),
        ),
        "AWS::Lambda::Version" => stack.arn("lambda", &format!("function:{}:1", property("FunctionName"))),
        "AWS::Logs::LogGroup" => own("LogGroupName"),
        "AWS::ElastiCache::ServerlessCache" => own("ServerlessCacheName"),
        "AWS::ElastiCache::User" => own("UserId"),
        "AWS::ApiGateway::Stage" => own("StageName"),
        "AWS::ApiGateway::RestApi" => "a1b2c3d4e5".to_owned(),
        "AWS::CloudFront::Distribution" => "E1234567890ABC".to_owned(),
        "AWS::S3::Bucket" => Stack::generated_name(id).to_lowercase(),
        _ => Stack::generated_name(id),
    }
}

/// What `Fn::GetAtt` returns.
pub(crate) fn attribute_of(stack: &Stack<'_>, id: &str, resource: &Value, attribute: &str) -> Value {
    let name = || name_of(stack, id, resource);
    let kind = resource["Type"].as_str().unwrap_or_default();
    json!(match (kind, attribute) {
        ("AWS::DynamoDB::Table", "Arn") => stack.arn("dynamodb", &format!("table/{}", name())),
        ("AWS::Lambda::Function", "Arn") => stack.arn("lambda", &format!("function:{}", name())),
        ("AWS::Logs::LogGroup", "Arn") => stack.arn("logs", &format!("log-group:{}:*", name())),
        ("AWS::IAM::Role", "Arn") => format!("arn:aws:iam::{ACCOUNT}:role/{}", name()),
        ("AWS::S3::Bucket", "Arn") => format!("arn:aws:s3:::{}", name()),
        ("AWS::ElastiCache::ServerlessCache", "ARN") =>
            stack.arn("elasticache", &format!("serverlesscache:{}", name())),
        ("AWS::ElastiCache::User", "Arn") => stack.arn("elasticache", &format!("user:{}", name())),
        ("AWS::Events::Rule", "Arn") => stack.arn("events", &format!("rule/{}", name())),
        ("AWS::WAFv2::WebACL", "Arn") => stack.arn("wafv2", &format!("regional/webacl/{}/0a1b2c3d", name())),
        ("AWS::Lambda::Version", "Version") => "1".to_owned(),
        ("AWS::EC2::SecurityGroup", "GroupId") => name(),
        // Each entry has the form ZONE_ID:NAME.
        ("AWS::EC2::VPCEndpoint", "DnsEntries") =>
            return json!([format!("Z1234567890ABC:vpce-{id}.example")]),
        _ => format!("{id}.{attribute}"),
    })
}
