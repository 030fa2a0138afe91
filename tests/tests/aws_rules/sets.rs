//! The sets of parameters that the guide offers, alone and in pairs whose parts meet in one resource.

/// One way to deploy the template.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParameterSet {
    pub(crate) name: &'static str,
    pub(crate) given: &'static [(&'static str, &'static str)],
    /// The concurrent executions of the account for which the guide offers it.
    pub(crate) account_executions: u64,
    /// Whether the set turns off reserved executions itself.
    pub(crate) reserves_nothing: bool,
}

/// The quota of a new account.
const NEW_ACCOUNT: u64 = 10;
/// The quota that most accounts have.
const FULL_ACCOUNT: u64 = 1_000;

const SALE: (&str, &str) = ("Size", "sale");
const OWN_VPC: (&str, &str) = ("VpcId", "vpc-0a1b2c3d");
const SUBNETS: (&str, &str) = ("SubnetIds", "subnet-0a1b2c3d,subnet-4e5f6a7b");
const ROUTES: (&str, &str) = ("RouteTableIds", "rtb-0a1b2c3d");
const BUS: (&str, &str) = ("EventBusName", "default");
const ROOT_KEY: (&str, &str) = (
    "RootKeySecretArn",
    "arn:aws:secretsmanager:ap-southeast-1:123456789012:secret:root-AbCdEf",
);
const SIGNING_KEY: (&str, &str) = (
    "SigningKeySecretArn",
    "arn:aws:secretsmanager:ap-southeast-1:123456789012:secret:signing-AbCdEf",
);
const ORIGIN_KEY: (&str, &str) = (
    "OriginKeySecretArn",
    "arn:aws:secretsmanager:ap-southeast-1:123456789012:secret:origin-AbCdEf",
);
const NO_CDN: (&str, &str) = ("Distribution", "no");
const PROVISIONED: [(&str, &str); 5] = [
    ("DocumentProvisioned", "10"),
    ("EnterProvisioned", "20"),
    ("ClaimProvisioned", "20"),
    ("StatusProvisioned", "100"),
    ("ValidateProvisioned", "20"),
];
const PAGE_DOMAIN: [(&str, &str); 2] = [
    ("PageDomainName", "wait.shop.example"),
    (
        "PageCertificateArn",
        "arn:aws:acm:us-east-1:123456789012:certificate/0a1b",
    ),
];
const API_DOMAIN: [(&str, &str); 3] = [
    ("DomainName", "api.shop.example"),
    (
        "CertificateArn",
        "arn:aws:acm:ap-southeast-1:123456789012:certificate/2c3d",
    ),
    ("HostedZoneId", "Z0123456789"),
];

const fn trial(name: &'static str, given: &'static [(&'static str, &'static str)]) -> ParameterSet {
    ParameterSet {
        name,
        given,
        account_executions: NEW_ACCOUNT,
        reserves_nothing: false,
    }
}

const fn sale(name: &'static str, given: &'static [(&'static str, &'static str)]) -> ParameterSet {
    ParameterSet {
        name,
        given,
        account_executions: FULL_ACCOUNT,
        reserves_nothing: false,
    }
}

/// All sets. The first is the defaults.
pub(crate) const SETS: [ParameterSet; 22] = [
    trial("defaults", &[]),
    sale("a sale", &[SALE]),
    trial("no distribution", &[NO_CDN]),
    trial("a VPC of the owner", &[OWN_VPC, SUBNETS]),
    trial(
        "a VPC of the owner, with endpoints of the stack",
        &[OWN_VPC, SUBNETS, ROUTES],
    ),
    trial(
        "the same with the bus and given secrets",
        &[OWN_VPC, SUBNETS, ROUTES, BUS, ROOT_KEY, SIGNING_KEY, ORIGIN_KEY],
    ),
    trial("the bus", &[BUS]),
    trial("given secrets", &[ROOT_KEY, SIGNING_KEY, ORIGIN_KEY]),
    trial("a given origin key and no distribution", &[ORIGIN_KEY, NO_CDN]),
    sale("nodes", &[SALE, ("CacheNodeType", "cache.m7g.large")]),
    trial(
        "a Redis of the owner",
        &[("RedisUrl", "rediss://cache.example:6379")],
    ),
    trial(
        "a Redis of the owner in a VPC",
        &[
            ("RedisUrl", "rediss://cache.example:6379"),
            SUBNETS,
            ("SecurityGroupIds", "sg-0a1b2c3d"),
        ],
    ),
    sale(
        "provisioned concurrency",
        &[
            SALE,
            PROVISIONED[0],
            PROVISIONED[1],
            PROVISIONED[2],
            PROVISIONED[3],
            PROVISIONED[4],
        ],
    ),
    sale(
        "a canary",
        &[
            SALE,
            PROVISIONED[0],
            PROVISIONED[1],
            PROVISIONED[2],
            PROVISIONED[3],
            PROVISIONED[4],
            ("VersionShift", "Canary10Percent5Minutes"),
        ],
    ),
    trial(
        "API keys",
        &[("VisitorAuth", "api-key"), ("ServiceAuth", "api-key")],
    ),
    trial(
        "IAM visitors",
        &[
            ("VisitorAuth", "iam"),
            ("ServiceCallers", "arn:aws:iam::123456789012:role/shop"),
        ],
    ),
    trial(
        "visitors of Cognito",
        &[
            ("VisitorAuth", "cognito"),
            (
                "CognitoUserPoolArn",
                "arn:aws:cognito-idp:ap-southeast-1:123456789012:userpool/ap-southeast-1_a",
            ),
        ],
    ),
    trial(
        "an authorizer",
        &[
            ("VisitorAuth", "lambda"),
            (
                "VisitorAuthorizerArn",
                "arn:aws:lambda:ap-southeast-1:123456789012:function:login",
            ),
        ],
    ),
    sale(
        "an API behind the authorizer",
        &[SALE, ("AuthorizerQueues", "sale-*")],
    ),
    trial("a WAF", &[("WafEntriesPerFiveMinutes", "100")]),
    trial(
        "domains",
        &[
            PAGE_DOMAIN[0],
            PAGE_DOMAIN[1],
            API_DOMAIN[0],
            API_DOMAIN[1],
            API_DOMAIN[2],
        ],
    ),
    sale(
        "everything",
        &[
            SALE,
            BUS,
            PAGE_DOMAIN[0],
            PAGE_DOMAIN[1],
            API_DOMAIN[0],
            API_DOMAIN[1],
            API_DOMAIN[2],
            PROVISIONED[0],
            PROVISIONED[1],
            PROVISIONED[2],
            PROVISIONED[3],
            PROVISIONED[4],
            ("VersionShift", "Canary10Percent5Minutes"),
            ("WafEntriesPerFiveMinutes", "100"),
            ("AuthorizerQueues", "sale-*"),
            ("AlarmTopicArn", "arn:aws:sns:ap-southeast-1:123456789012:on-duty"),
            ("MonthlyBudgetDollars", "100"),
            ("BudgetEmail", "owner@shop.example"),
            ("Tracing", "on"),
            ("EntriesWarmWriteUnits", "8000"),
            ("ZoneIds", "apse1-az1,apse1-az2"),
            (
                "CdnWebAclArn",
                "arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/b",
            ),
        ],
    ),
];
