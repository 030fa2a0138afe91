//! A call passes up to three gates: the role of the function, the policy of the VPC endpoint on its way, and the policy of
//! the resource. An emulator enforces none of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    calls::{NoResource, RECORDED, RecordedCall},
    iam::{Call, Decision, decide, matches, statements},
    stack::{ACCOUNT, Stack, items, object, text_of},
};

/// What AWS itself does with the role of a function, so no function calls it.
const CALLS_OF_AWS: [(&str, &str); 10] = [
    (
        "logs:CreateLogStream",
        "https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs.html",
    ),
    (
        "logs:PutLogEvents",
        "https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs.html",
    ),
    (
        "xray:PutTraceSegments",
        "https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html",
    ),
    (
        "xray:PutTelemetryRecords",
        "https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html",
    ),
    (
        "ec2:CreateNetworkInterface",
        "https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html",
    ),
    (
        "ec2:DescribeNetworkInterfaces",
        "https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html",
    ),
    (
        "ec2:DescribeSubnets",
        "https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html",
    ),
    (
        "ec2:DeleteNetworkInterface",
        "https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html",
    ),
    (
        "ec2:AssignPrivateIpAddresses",
        "https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html",
    ),
    (
        "ec2:UnassignPrivateIpAddresses",
        "https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html",
    ),
];

/// A function with all that decides about its calls.
struct Function<'a> {
    id: &'a str,
    properties: &'a Value,
    variables: &'a Value,
    statements: Vec<&'a Value>,
}

/// A call that a function makes in this stack.
struct StackCall<'a> {
    function: &'a Function<'a>,
    call: Call,
}

/// Every call of every function passes its gates.
pub(crate) fn calls_are_allowed(stack: &Stack<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    let functions = functions(stack, &mut findings);
    for StackCall { function, call } in calls(stack, &functions, &mut findings) {
        let Call { action, resource, .. } = &call;
        let role = decide(function.statements.iter().copied(), None, &call);
        if role != Decision::Allowed {
            findings.push(format!(
                "{}: its role does not allow {action} on {resource}: {role:?}",
                function.id
            ));
        }
        findings.extend(endpoint_finding(stack, function, &call));
    }
    findings
}

/// Nothing is allowed that no function calls.
pub(crate) fn nothing_else_is_allowed(stack: &Stack<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    let functions = functions(stack, &mut findings);
    let calls = calls(stack, &functions, &mut findings);
    let is_called = |id: Option<&str>, action: &str, resource: &str| {
        calls.iter().any(|made| {
            id.is_none_or(|id| made.function.id == id)
                && matches(action, &made.call.action)
                && matches(resource, &made.call.resource)
        })
    };
    for function in &functions {
        for statement in function
            .statements
            .iter()
            .filter(|statement| statement["Effect"] == "Allow")
        {
            for (action, resource) in rights(statement) {
                let is_of_aws = CALLS_OF_AWS.iter().any(|(of_aws, _)| *of_aws == action);
                // A pattern would let through what no one has looked at.
                if !is_of_aws
                    && (action.contains('*')
                        || resource.contains('*')
                        || !is_called(Some(function.id), &action, &resource))
                {
                    findings.push(format!(
                        "{}: its role allows {action} on {resource}, which it never calls",
                        function.id
                    ));
                }
            }
            for attribute in
                items(&statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:Attributes"])
            {
                let is_named = RECORDED.iter().any(|recorded| {
                    format!("{}function", recorded.function) == function.id.to_lowercase()
                        && recorded
                            .attributes
                            .as_ref()
                            .is_some_and(|names| names.contains(&text_of(attribute)))
                });
                if !is_named {
                    findings.push(format!(
                        "{}: its role allows the attribute {attribute}, which no call names",
                        function.id
                    ));
                }
            }
        }
    }
    for (id, endpoint) in stack.of_kind("AWS::EC2::VPCEndpoint") {
        for statement in items(&endpoint["PolicyDocument"]["Statement"]) {
            for (action, resource) in rights(statement) {
                if action.contains('*') || resource.contains('*') || !is_called(None, &action, &resource) {
                    findings.push(format!(
                        "{id}: its policy allows {action} on {resource}, which no function calls"
                    ));
                }
            }
        }
    }
    findings
}

/// Each secret, table, bus and function that a variable names is in the role of that function.
pub(crate) fn variables_have_statements(stack: &Stack<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    for function in functions(stack, &mut findings) {
        for (variable, value) in object(function.variables) {
            let value = text_of(value);
            let resource = if value.starts_with("arn:aws:secretsmanager:") {
                value
            } else if stack.find("AWS::DynamoDB::Table", &json!(value)).is_some() {
                stack.arn("dynamodb", &format!("table/{value}"))
            } else if stack.find("AWS::Lambda::Function", &json!(value)).is_some() {
                stack.arn("lambda", &format!("function:{value}"))
            } else if variable == "VESTIBULE_EVENT_BUS" && !value.is_empty() {
                stack.arn("events", &format!("event-bus/{value}"))
            } else {
                continue;
            };
            let has_statement = function.statements.iter().any(|statement| {
                statement["Effect"] == "Allow"
                    && items(&statement["Resource"])
                        .iter()
                        .any(|pattern| matches(&text_of(pattern), &resource))
            });
            if !has_statement {
                findings.push(format!(
                    "{}: {variable} names {resource}, and its role has no statement for it",
                    function.id
                ));
            }
        }
    }
    findings
}

/// What AWS's services call for the stack: the gateway and the schedule call functions, the distribution reads the bucket.
pub(crate) fn services_are_allowed(stack: &Stack<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    for (_, api) in stack.of_kind("AWS::ApiGateway::RestApi") {
        for (path, operations) in object(&api["Body"]["paths"]) {
            for (method, operation) in object(operations) {
                let uri = text_of(&operation["x-amazon-apigateway-integration"]["uri"]);
                if method == "parameters" {
                    continue;
                }
                // The gateway puts `*` for a parameter of the path.
                let source = format!("a1b2c3d4e5/v1/{}{path}", method.to_uppercase());
                findings.extend(invocation_finding(
                    stack,
                    &uri,
                    "apigateway.amazonaws.com",
                    &stack.arn("execute-api", &source),
                ));
            }
        }
        for (name, scheme) in object(&api["Body"]["components"]["securitySchemes"]) {
            let authorizer = &scheme["x-amazon-apigateway-authorizer"];
            if authorizer["type"] == "cognito_user_pools" || authorizer.is_null() {
                continue;
            }
            let source = stack.arn("execute-api", &format!("a1b2c3d4e5/authorizers/{name}"));
            findings.extend(invocation_finding(
                stack,
                &text_of(&authorizer["authorizerUri"]),
                "apigateway.amazonaws.com",
                &source,
            ));
        }
    }
    for (id, rule) in stack.of_kind("AWS::Events::Rule") {
        let source = stack.arn("events", &format!("rule/{}", Stack::generated_name(id)));
        for target in items(&rule["Targets"]) {
            findings.extend(invocation_finding(
                stack,
                &text_of(&target["Arn"]),
                "events.amazonaws.com",
                &source,
            ));
        }
    }
    for (_, distribution) in stack.of_kind("AWS::CloudFront::Distribution") {
        for origin in items(&distribution["DistributionConfig"]["Origins"]) {
            let domain = text_of(&origin["DomainName"]);
            let Some(id) = domain.strip_suffix(".RegionalDomainName") else {
                continue;
            };
            findings.extend(bucket_finding(stack, id));
        }
    }
    findings
}

/// Whether a service may invoke the function or alias whose ARN is in `target`.
fn invocation_finding(stack: &Stack<'_>, target: &str, service: &str, source: &str) -> Option<String> {
    let function = target.strip_suffix("/invocations").unwrap_or(target);
    let at = function.find("arn:aws:lambda:")?;
    let function = &function[at..];
    let allowed = stack.of_kind("AWS::Lambda::Permission").any(|(_, permission)| {
        let name = text_of(&permission["FunctionName"]);
        let names_it = name == function || function == stack.arn("lambda", &format!("function:{name}"));
        permission["Action"] == "lambda:InvokeFunction"
            && names_it
            && permission["Principal"] == service
            && matches(&text_of(&permission["SourceArn"]), source)
    });
    (!allowed).then(|| format!("no permission lets {service} invoke {function} for {source}"))
}

fn bucket_finding(stack: &Stack<'_>, id: &str) -> Option<String> {
    let name = json!(Stack::generated_name(id).to_lowercase());
    let policies = stack
        .of_kind("AWS::S3::BucketPolicy")
        .filter(|(_, policy)| policy["Bucket"] == name);
    let found: Vec<_> = policies
        .flat_map(|(_, policy)| statements(&policy["PolicyDocument"]))
        .collect();
    let distribution = format!("arn:aws:cloudfront::{ACCOUNT}:distribution/E1234567890ABC");
    let call = Call {
        action: "s3:GetObject".to_owned(),
        resource: format!("arn:aws:s3:::{}/theme.css", text_of(&name)),
        context: BTreeMap::from([
            ("aws:sourcearn", vec![distribution]),
            ("aws:securetransport", vec!["true".to_owned()]),
        ]),
    };
    let decision = decide(found, Some("cloudfront.amazonaws.com"), &call);
    (decision != Decision::Allowed)
        .then(|| format!("{id}: its policy does not let the distribution read it: {decision:?}"))
}

/// The functions of a stack. A role or a policy that the stack does not have is a finding.
fn functions<'a>(stack: &'a Stack<'_>, findings: &mut Vec<String>) -> Vec<Function<'a>> {
    let all = stack.of_kind("AWS::Lambda::Function");
    all.map(|(id, properties)| {
        let mut found = Vec::new();
        if let Some(role) = stack.find("AWS::IAM::Role", &properties["Role"]) {
            for policy in items(&role["Policies"]) {
                found.extend(statements(&policy["PolicyDocument"]));
            }
            for arn in items(&role["ManagedPolicyArns"]) {
                match stack.find("AWS::IAM::ManagedPolicy", arn) {
                    Some(policy) => found.extend(statements(&policy["PolicyDocument"])),
                    None => findings.push(format!(
                        "{id}: its role has the policy {arn}, which the stack does not have"
                    )),
                }
            }
        } else {
            findings.push(format!(
                "{id}: the stack does not have its role {}",
                properties["Role"]
            ));
        }
        Function {
            id,
            properties,
            variables: &properties["Environment"]["Variables"],
            statements: found,
        }
    })
    .collect()
}

/// The calls that the functions make in this stack.
fn calls<'a>(
    stack: &Stack<'_>,
    functions: &'a [Function<'a>],
    findings: &mut Vec<String>,
) -> Vec<StackCall<'a>> {
    let mut calls = Vec::new();
    for function in functions {
        let is_its_own =
            |recorded: &&RecordedCall| format!("{}function", recorded.function) == function.id.to_lowercase();
        for recorded in RECORDED.iter().filter(is_its_own) {
            let action = &recorded.action;
            match recorded.find_resource(stack, function.variables) {
                Ok(resource) => {
                    // Lambda adds this key to what the code of a function calls.
                    let source = stack.arn(
                        "lambda",
                        &format!("function:{}", Stack::generated_name(function.id)),
                    );
                    let mut context = BTreeMap::from([("lambda:sourcefunctionarn", vec![source])]);
                    context.extend(
                        recorded
                            .attributes
                            .iter()
                            .map(|names| ("dynamodb:attributes", names.clone())),
                    );
                    calls.push(StackCall {
                        function,
                        call: Call {
                            action: action.clone(),
                            resource,
                            context,
                        },
                    });
                }
                Err(NoResource::Unused) => {}
                Err(NoResource::Unnamed(variable)) => {
                    findings.push(format!(
                        "{}: it calls {action}, and {variable} names no resource",
                        function.id
                    ));
                }
            }
        }
        // A login by IAM is a signature, which no emulator sees.
        let cache = text_of(&function.variables["VESTIBULE_REDIS_IAM_CACHE"]);
        if !cache.is_empty() {
            let user = text_of(&function.variables["VESTIBULE_REDIS_IAM_USER"]);
            for resource in [format!("serverlesscache:{cache}"), format!("user:{user}")] {
                let resource = stack.arn("elasticache", &resource);
                calls.push(StackCall {
                    function,
                    call: Call {
                        action: "elasticache:Connect".to_owned(),
                        resource,
                        context: BTreeMap::new(),
                    },
                });
            }
        }
    }
    calls
}

/// What is wrong with the way of a call out of the function's VPC.
fn endpoint_finding(stack: &Stack<'_>, function: &Function<'_>, call: &Call) -> Option<String> {
    let Function {
        id,
        properties,
        variables,
        ..
    } = function;
    let (service, _) = call.action.split_once(':').expect("a service");
    if properties["VpcConfig"].is_null() || service == "elasticache" {
        return None;
    }
    let suffix = format!(".{service}");
    let found = stack
        .of_kind("AWS::EC2::VPCEndpoint")
        .find(|(_, endpoint)| text_of(&endpoint["ServiceName"]).ends_with(&suffix));
    let Some((endpoint_id, endpoint)) = found else {
        let is_closed = stack.of_kind("AWS::EC2::VPC").next().is_some();
        return is_closed.then(|| {
            format!("{id}: no endpoint leads to {service}, and the network of the stack has no other way")
        });
    };
    let policy = &endpoint["PolicyDocument"];
    if !policy.is_null() {
        let decision = decide(statements(policy), Some("*"), call);
        if decision != Decision::Allowed {
            let Call { action, resource, .. } = call;
            return Some(format!(
                "{id}: the policy of {endpoint_id} does not allow {action} on {resource}: {decision:?}"
            ));
        }
    }
    if endpoint["VpcEndpointType"] != "Interface" {
        return None;
    }
    let address = text_of(
        &variables[match service {
            "secretsmanager" => "VESTIBULE_SECRETS_ENDPOINT",
            _ => "VESTIBULE_EVENTS_ENDPOINT",
        }],
    );
    if endpoint["PrivateDnsEnabled"] != json!(true) && !address.contains(&format!("vpce-{endpoint_id}")) {
        return Some(format!(
            "{id}: it does not use {endpoint_id}, which has no private DNS name: its address is '{address}'"
        ));
    }
    let groups = items(&properties["VpcConfig"]["SecurityGroupIds"]);
    let admits = items(&endpoint["SecurityGroupIds"]).iter().any(|group| {
        let found = stack.find("AWS::EC2::SecurityGroup", group);
        found.is_some_and(|group| {
            items(&group["SecurityGroupIngress"])
                .iter()
                .any(|rule| rule["FromPort"] == 443 && groups.contains(&&rule["SourceSecurityGroupId"]))
        })
    });
    (!admits).then(|| format!("{id}: the security groups of {endpoint_id} do not admit it"))
}

/// The pairs of action and resource that a statement allows.
fn rights(statement: &Value) -> Vec<(String, String)> {
    let resources = items(&statement["Resource"]);
    let actions = items(&statement["Action"]);
    actions
        .iter()
        .flat_map(|action| {
            resources
                .iter()
                .map(move |resource| (text_of(action), text_of(resource)))
        })
        .collect()
}
