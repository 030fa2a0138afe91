//! A small server with the calls of AWS that the preflight sends.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use vestibule_admin::Admin;

use crate::fake_functions::Functions;

/// What the account answers. A test changes it to plant a fault.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub parameters: BTreeMap<&'static str, String>,
    /// Functions that may run at once.
    pub executions: u32,
    /// The reserved concurrency of `EnterFunction`.
    pub enter_reserved: u32,
    /// The claim that the published version of the functions reads.
    pub claim_read: String,
    pub requests_per_second: u32,
    /// A path that the API lacks.
    pub missing_path: Option<String>,
    pub zones: [&'static str; 2],
    /// The attributes of the users of the pool.
    pub pool_attributes: Vec<&'static str>,
    /// The claims of the token of a visitor.
    pub token_claims: Value,
    pub public_keys: Value,
    pub init_ms: f64,
    pub recovery: &'static str,
    /// The function whose process ends with this line in its log.
    pub failing: Option<(&'static str, &'static str)>,
    /// The status with which `ClaimFunction` answers instead.
    pub claim_status: Option<u16>,
    /// A line that `EnterFunction` logs when it starts.
    pub enter_log: &'static str,
    /// The service that refuses every call, by a part of its path or target.
    pub forbidden: Option<&'static str>,
}

impl Account {
    /// An account that is ready, with the defaults of the template and a user pool.
    pub(crate) fn ready() -> Self {
        let parameters = [
            ("VisitorAuth", "cognito"),
            ("VisitorClaim", "sub"),
            (
                "CognitoUserPoolArn",
                "arn:aws:cognito-idp:eu-central-1:1:userpool/eu-central-1_a",
            ),
            ("Size", "sale"),
            ("HeldBudget", "200"),
            ("DocumentConcurrency", "100"),
            ("EnterConcurrency", "53"),
            ("ClaimConcurrency", "50"),
            ("StatusConcurrency", "300"),
            ("ValidateConcurrency", "100"),
            ("PromoterConcurrency", "3"),
            ("ThrottleRate", "5000"),
            ("ThrottleBurst", "2500"),
        ];
        Self {
            parameters: parameters.map(|(name, value)| (name, value.to_owned())).into(),
            executions: 1_000,
            enter_reserved: 53,
            claim_read: "sub".to_owned(),
            requests_per_second: 10_000,
            missing_path: None,
            zones: ["euc1-az1", "euc1-az2"],
            pool_attributes: vec!["sub", "email"],
            token_claims: json!({ "sub": "ada", "email": "ada@example.com" }),
            public_keys: json!([{ "kty": "EC", "crv": "P-256", "kid": "1" }]),
            init_ms: 120.0,
            recovery: "ENABLED",
            failing: None,
            claim_status: None,
            enter_log: "",
            forbidden: None,
        }
    }
}

struct Server {
    account: Mutex<Account>,
    admin: Admin,
    functions: Functions,
}

/// The server of an account.
pub(crate) struct FakeAccount {
    pub url: String,
    server: Arc<Server>,
}

impl FakeAccount {
    pub(crate) async fn start(account: Account, admin: Admin) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Arc::new(Server {
            account: Mutex::new(account),
            admin,
            functions: Functions::start().await,
        });
        let router = Router::new().fallback(answer).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, server }
    }

    /// The functions behind the API.
    pub(crate) fn functions(&self) -> &Functions {
        &self.server.functions
    }

    /// Changes what the account answers.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Account)) {
        change(&mut self.server.account.lock().expect("no test panicked"));
    }
}

async fn answer(
    State(server): State<Arc<Server>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let account = server.account.lock().expect("no test panicked").clone();
    let target = headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok());
    let form = String::from_utf8_lossy(&body).into_owned();
    let is_forbidden =
        |part: &str| uri.path().contains(part) || target.is_some_and(|target| target.contains(part));
    if account.forbidden.is_some_and(is_forbidden) {
        let body = json!({ "__type": "AccessDeniedException", "message": "not authorized" });
        return (StatusCode::FORBIDDEN, body.to_string()).into_response();
    }
    let is_signed = headers.get("authorization").is_some_and(|signature| {
        signature
            .to_str()
            .is_ok_and(|text| text.starts_with("AWS4-HMAC-SHA256 "))
    });
    assert!(is_signed, "{method} {uri} is not signed");
    if uri.path().ends_with("shop-AdminFunction-1/invocations") {
        let command = serde_json::from_slice(&body).expect("a command in JSON");
        return server.admin.handle(command).await.to_string().into_response();
    }
    let answer = match target {
        Some(target) => answer_target(&account, target),
        None if uri.path() == "/" => return answer_form(&account, &form),
        None if uri.path().ends_with("/invocations") => {
            let event = serde_json::from_slice(&body).expect("an event in JSON");
            return server.functions.invoke(&account, uri.path(), &event).await;
        }
        None => answer_path(&account, uri.path()),
    };
    answer
        .unwrap_or_else(|| panic!("no preflight sends {method} {uri} {form}"))
        .to_string()
        .into_response()
}

fn answer_target(account: &Account, target: &str) -> Option<Value> {
    let (_, operation) = target.split_once('.')?;
    Some(match operation {
        "DescribeTable" => {
            json!({ "Table": { "DeletionProtectionEnabled": true, "ItemCount": 1_000, "WarmThroughput": { "ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000 } } })
        }
        "DescribeTimeToLive" => json!({ "TimeToLiveDescription": { "TimeToLiveStatus": "ENABLED" } }),
        "DescribeContinuousBackups" => json!({ "ContinuousBackupsDescription": {
            "PointInTimeRecoveryDescription": { "PointInTimeRecoveryStatus": account.recovery } } }),
        "DescribeUserPool" => {
            let attributes = account.pool_attributes.iter().map(|name| json!({ "Name": name }));
            json!({ "UserPool": { "SchemaAttributes": attributes.collect::<Vec<_>>() } })
        }
        _ => return None,
    })
}

fn answer_path(account: &Account, path: &str) -> Option<Value> {
    if let Some(function) = path.strip_suffix("/concurrency") {
        let name = function.rsplit('/').next()?;
        let reserved = match name {
            "shop-EnterFunction" => account.enter_reserved,
            _ => account.parameters[format!("{}Concurrency", &name[5..name.len() - 8]).as_str()]
                .parse()
                .ok()?,
        };
        return Some(json!({ "ReservedConcurrentExecutions": reserved }));
    }
    if path.ends_with("/configuration") {
        let variables = json!({ "VESTIBULE_VISITOR_CLAIM": account.claim_read });
        let subnets = json!({ "SubnetIds": ["subnet-1", "subnet-2"] });
        return Some(json!({ "Environment": { "Variables": variables }, "VpcConfig": subnets }));
    }
    Some(match path {
        "/2016-08-19/account-settings" => {
            json!({ "AccountLimit": { "ConcurrentExecutions": account.executions } })
        }
        "/account" => {
            json!({ "throttleSettings": { "rateLimit": f64::from(account.requests_per_second), "burstLimit": 5_000 } })
        }
        "/restapis/api1/resources" => json!({ "item": resources(account) }),
        "/restapis/api1/authorizers" => json!({ "item": [{ "id": "auth1" }] }),
        "/restapis/api1/authorizers/auth1" => json!({ "clientStatus": 200, "claims": account.token_claims }),
        _ => return None,
    })
}

/// The resources of the API, from its document.
fn resources(account: &Account) -> Vec<Value> {
    let document: Value = serde_json::from_str(include_str!("../../../docs/openapi.json")).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    let paths = paths
        .iter()
        .filter(|(path, _)| account.missing_path.as_ref() != Some(path));
    let resources = paths.map(|(path, operations)| {
        let mut methods: Vec<_> = operations
            .as_object()
            .expect("operations")
            .keys()
            .map(|name| name.to_uppercase())
            .collect();
        // The document for readers leaves preflights and HEAD out.
        methods.push("OPTIONS".to_owned());
        if methods.contains(&"GET".to_owned()) {
            methods.push("HEAD".to_owned());
        }
        let methods: serde_json::Map<_, _> = methods.into_iter().map(|name| (name, json!({}))).collect();
        json!({ "path": path, "resourceMethods": methods })
    });
    resources.collect()
}

/// Answers in XML, as the query protocol does.
fn answer_form(account: &Account, form: &str) -> Response {
    let is_action = |action: &str| form.contains(&format!("Action={action}&"));
    let text = if is_action("DescribeStacks") {
        describe_stacks(account)
    } else if is_action("DescribeStackResource") {
        "<DescribeStackResourceResponse><DescribeStackResourceResult><StackResourceDetail><LogicalResourceId>Api</LogicalResourceId>\
         <PhysicalResourceId>api1</PhysicalResourceId></StackResourceDetail></DescribeStackResourceResult></DescribeStackResourceResponse>"
            .to_owned()
    } else if is_action("DescribeSubnets") {
        let zones = account
            .zones
            .map(|zone| format!("<item><availabilityZoneId>{zone}</availabilityZoneId></item>"));
        format!(
            "<DescribeSubnetsResponse><subnetSet>{}</subnetSet></DescribeSubnetsResponse>",
            zones.concat()
        )
    } else {
        panic!("no preflight sends {form}")
    };
    ([(CONTENT_TYPE, "text/xml")], text).into_response()
}

fn describe_stacks(account: &Account) -> String {
    let parameters = account.parameters.iter().map(|(name, value)| {
        format!(
            "<member><ParameterKey>{name}</ParameterKey><ParameterValue>{value}</ParameterValue></member>"
        )
    });
    let functions = ["Document", "Enter", "Claim", "Status", "Validate", "Authorizer"];
    let outputs = functions.map(|name| (format!("{name}Function"), format!("shop-{name}Function")));
    let further = [
        ("AdminFunction", "shop-AdminFunction-1"),
        ("QueuesTable", "shop-queues"),
        ("EntriesTable", "shop-entries"),
    ];
    let further = further.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let outputs = outputs.into_iter().chain(further).map(|(name, value)| {
        format!("<member><OutputKey>{name}</OutputKey><OutputValue>{value}</OutputValue></member>")
    });
    format!(
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>shop</StackName>\
         <CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>UPDATE_COMPLETE</StackStatus>\
         <Parameters>{}</Parameters><Outputs>{}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>",
        parameters.collect::<String>(),
        outputs.collect::<String>()
    )
}
