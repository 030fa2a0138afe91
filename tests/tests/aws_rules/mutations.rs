//! Faults of the template, each of which a rule finds. The first are those that a deployment met or would have met.

use serde_json::{Value, json};

/// One fault.
pub(crate) struct Mutation {
    pub(crate) name: &'static str,
    /// Puts the fault into the template or the API document.
    pub(crate) apply: fn(&mut Value, &mut Value),
    /// A part of the finding.
    pub(crate) finding: &'static str,
}

const fn mutation(name: &'static str, apply: fn(&mut Value, &mut Value), finding: &'static str) -> Mutation {
    Mutation { name, apply, finding }
}

/// The value at a path of the resources, such as `Api/Properties/Name`. The empty path is all resources.
fn at<'a>(template: &'a mut Value, path: &str) -> &'a mut Value {
    let pointer = format!("/Resources/{path}");
    let pointer = pointer.trim_end_matches('/');
    template
        .pointer_mut(pointer)
        .unwrap_or_else(|| panic!("the template has nothing at {pointer}"))
}

/// Removes an entry of an object, or an item of a list.
fn remove(template: &mut Value, path: &str) {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    match at(template, parent) {
        Value::Array(items) => drop(items.remove(name.parse().expect("an index"))),
        parent => drop(
            parent
                .as_object_mut()
                .expect("an object")
                .remove(name)
                .expect("an entry"),
        ),
    }
}

fn push(template: &mut Value, path: &str, item: Value) {
    at(template, path).as_array_mut().expect("a list").push(item);
}

pub(crate) const ALL: [Mutation; 32] = [
    mutation(
        "the endpoint refuses the origin key",
        |template, _| {
            remove(
                template,
                "SecretsInterface/Properties/PolicyDocument/Statement/0/Resource/2",
            );
        },
        "EnterFunction: the policy of SecretsInterface does not allow secretsmanager:GetSecretValue",
    ),
    mutation(
        "the endpoint refuses a rotation",
        |template, _| remove(template, "SecretsInterface/Properties/PolicyDocument/Statement/1"),
        "AdminFunction: the policy of SecretsInterface does not allow secretsmanager:PutSecretValue",
    ),
    mutation(
        "the gateway endpoint has one table",
        |template, _| {
            remove(
                template,
                "DynamoDbGateway/Properties/PolicyDocument/Fn::If/1/Statement/1",
            );
        },
        "the policy of DynamoDbGateway does not allow dynamodb:Query",
    ),
    mutation(
        "the network has no way to DynamoDB",
        |template, _| remove(template, "DynamoDbGateway"),
        "no endpoint leads to dynamodb",
    ),
    mutation(
        "functions in a given network do not use the endpoint",
        |template, _| *at(template, "SecretsInterface/Properties/PrivateDnsEnabled") = json!(false),
        "it does not use SecretsInterface",
    ),
    mutation(
        "the endpoint's security group admits no function",
        |template, _| {
            remove(
                template,
                "SecretsEndpointSecurityGroup/Properties/SecurityGroupIngress/0",
            );
        },
        "the security groups of SecretsInterface do not admit it",
    ),
    mutation(
        "a role lacks an action",
        |template, _| {
            remove(
                template,
                "EnterRole/Properties/Policies/0/PolicyDocument/Statement/1/Action/1",
            );
        },
        "EnterFunction: its role does not allow dynamodb:PutItem",
    ),
    mutation(
        "a role lacks an attribute",
        |template, _| {
            let condition = "EnterRole/Properties/Policies/0/PolicyDocument/Statement/3/Condition";
            *at(template, condition) =
                json!({ "ForAllValues:StringEquals": { "dynamodb:Attributes": ["queue", "part", "epoch"] } });
        },
        "EnterFunction: its role does not allow dynamodb:UpdateItem",
    ),
    mutation(
        "a role lacks the cache's user",
        |template, _| {
            remove(
                template,
                "ConnectPolicy/Properties/PolicyDocument/Statement/0/Resource/1",
            );
        },
        "its role does not allow elasticache:Connect",
    ),
    mutation(
        "a role names another bus",
        |template, _| {
            *at(
                template,
                "EventsPolicy/Properties/PolicyDocument/Statement/0/Resource",
            ) = json!("arn:aws:events:ap-southeast-1:123456789012:event-bus/other");
        },
        "PromoterFunction: its role does not allow events:PutEvents",
    ),
    mutation(
        "a role denies what its function calls",
        |template, _| {
            push(
                template,
                "AdminRole/Properties/Policies/0/PolicyDocument/Statement",
                json!({ "Effect": "Deny", "Action": "dynamodb:Scan", "Resource": "*" }),
            );
        },
        "AdminFunction: its role does not allow dynamodb:Scan",
    ),
    mutation(
        "a role allows what its function never calls",
        |template, _| {
            push(
                template,
                "EnterRole/Properties/Policies/0/PolicyDocument/Statement/1/Action",
                json!("dynamodb:DeleteItem"),
            );
        },
        "EnterFunction: its role allows dynamodb:DeleteItem",
    ),
    mutation(
        "an endpoint allows every action",
        |template, _| {
            *at(
                template,
                "DynamoDbGateway/Properties/PolicyDocument/Fn::If/1/Statement/0/Action",
            ) = json!("dynamodb:*");
        },
        "DynamoDbGateway: its policy allows dynamodb:*",
    ),
    mutation(
        "a variable names a secret that the role does not",
        |template, _| {
            at(template, "DocumentFunction/Properties/Environment/Variables")["VESTIBULE_ORIGIN_KEY_SECRET"] =
                json!({ "Fn::If": ["MakesOriginKey", { "Ref": "OriginKeySecret" }, ""] });
        },
        "DocumentFunction: VESTIBULE_ORIGIN_KEY_SECRET names",
    ),
    mutation(
        "a variable names no secret",
        |template, _| {
            remove(
                template,
                "EnterFunction/Properties/Environment/Variables/VESTIBULE_ROOT_KEY_SECRET",
            );
        },
        "VESTIBULE_ROOT_KEY_SECRET names no resource",
    ),
    mutation(
        "the gateway may not call an alias",
        |template, _| remove(template, "EnterPermission"),
        "no permission lets apigateway.amazonaws.com invoke",
    ),
    mutation(
        "the gateway may not call the owner's authorizer",
        |template, _| remove(template, "VisitorAuthorizerPermission"),
        "no permission lets apigateway.amazonaws.com invoke arn:aws:lambda:ap-southeast-1:123456789012:function:login",
    ),
    mutation(
        "the bucket does not know its distribution",
        |template, _| {
            let condition = "ThemesBucketPolicy/Properties/PolicyDocument/Statement/0/Condition";
            *at(template, condition) = json!({ "StringEquals": { "AWS:SourceArn": "arn:aws:cloudfront::123456789012:distribution/other" } });
        },
        "ThemesBucket: its policy does not let the distribution read it",
    ),
    mutation(
        "a release does not change its function",
        |template, _| {
            drop(
                template["Globals"]["Function"]["Environment"]["Variables"]
                    .as_object_mut()
                    .expect("variables")
                    .remove("VESTIBULE_RELEASE"),
            );
        },
        "EnterVersion: ProvisionedRelease makes a new version",
    ),
    mutation(
        "a creation that fails leaves a table",
        |template, _| *at(template, "QueuesTable/DeletionPolicy") = json!("Retain"),
        "QueuesTable: Retain keeps it",
    ),
    mutation(
        "a trial protects its tables",
        |template, _| template["Mappings"]["Sizes"]["trial"]["DeletionProtection"] = json!("true"),
        "a trial protects it from deletion",
    ),
    mutation(
        "a trial holds more polls than a new account has executions",
        |template, _| template["Mappings"]["Sizes"]["trial"]["HeldBudget"] = json!("4"),
        "and the account has 10",
    ),
    mutation(
        "a sale reserves more than an account has",
        |template, _| template["Mappings"]["Sizes"]["sale"]["StatusConcurrency"] = json!("800"),
        "and the account has 1000",
    ),
    mutation(
        "a sale leaves its brake without an execution",
        |template, _| remove(template, "AdminFunction/Properties/ReservedConcurrentExecutions"),
        "AdminFunction: a sale reserves no execution for it",
    ),
    mutation(
        "a route takes more than its function serves",
        |template, _| template["Mappings"]["Sizes"]["sale"]["EnterThrottleRate"] = json!("900"),
        "EnterThrottleRate is 900",
    ),
    mutation(
        "a request policy has eleven headers",
        |template, _| {
            push(
                template,
                "CdnRequestPolicy/Properties/OriginRequestPolicyConfig/HeadersConfig/Headers",
                json!("User-Agent"),
            );
        },
        "11 headers of CdnRequestPolicy",
    ),
    mutation(
        "a name is too long in a long stack",
        |template, _| {
            *at(template, "CdnPageRoutes/Properties/Name") =
                json!({ "Fn::Sub": "${AWS::StackName}-${AWS::Region}-routes-of-the-page" });
        },
        "CdnPageRoutes has",
    ),
    mutation(
        "Origin Shield is in the region of the stack",
        |template, _| template["Mappings"]["Shields"]["eu-north-1"]["Nearest"] = json!("eu-north-1"),
        "asks for an Origin Shield in eu-north-1",
    ),
    mutation(
        "a resource depends on one that may not exist",
        |template, _| at(template, "Dashboard")["DependsOn"] = json!("ApiLogAccount"),
        "Dashboard depends on ApiLogAccount",
    ),
    mutation(
        "an output names what may not exist",
        |template, _| {
            drop(
                template["Outputs"]["ThemesBucket"]
                    .as_object_mut()
                    .expect("an output")
                    .remove("Condition"),
            );
        },
        "ThemesBucket refers to ThemesBucket",
    ),
    mutation(
        "the distribution compresses nothing",
        |template, _| {
            let policy =
                "CdnCachePolicy/Properties/CachePolicyConfig/ParametersInCacheKeyAndForwardedToOrigin";
            at(template, policy)["EnableAcceptEncodingGzip"] = json!(false);
        },
        "what the default behavior serves is compressed: false",
    ),
    mutation(
        "the API compresses nothing",
        |template, _| remove(template, "Api/Properties/MinimumCompressionSize"),
        "Api compresses nothing",
    ),
];
