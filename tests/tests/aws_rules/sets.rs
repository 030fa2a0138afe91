//! The sets of parameters that the guide offers, alone and in pairs whose parts meet in one resource.

/// A parameter and its value.
type Setting = (&'static str, &'static str);

/// One way to deploy the template.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParameterSet {
    pub(crate) name: &'static str,
    /// The concurrent executions of the account for which the guide offers it.
    pub(crate) account_executions: u64,
    groups: &'static [&'static [Setting]],
}

impl ParameterSet {
    /// The parameters that have another value than their default.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        self.groups.concat()
    }
}

/// The quota of a new account.
const NEW_ACCOUNT: u64 = 10;
/// The quota that most accounts have.
const FULL_ACCOUNT: u64 = 1_000;

const SALE: &[Setting] = &[("Size", "sale")];
const OWN_VPC: &[Setting] = &[
    ("VpcId", "vpc-0a1b2c3d"),
    ("SubnetIds", "subnet-0a1b2c3d,subnet-4e5f6a7b"),
];
const ROUTES: &[Setting] = &[("RouteTableIds", "rtb-0a1b2c3d")];
const OWN_REDIS: &[Setting] = &[("RedisUrl", "rediss://cache.example:6379")];
const BUS: &[Setting] = &[("EventBusName", "default")];
const KEYS: &[Setting] = &[
    (
        "RootKeySecretArn",
        "arn:aws:secretsmanager:ap-southeast-1:123456789012:secret:root-AbCdEf",
    ),
    (
        "SigningKeySecretArn",
        "arn:aws:secretsmanager:ap-southeast-1:123456789012:secret:signing-AbCdEf",
    ),
];
const ORIGIN_KEY: &[Setting] = &[(
    "OriginKeySecretArn",
    "arn:aws:secretsmanager:ap-southeast-1:123456789012:secret:origin-AbCdEf",
)];
const NO_CDN: &[Setting] = &[("Distribution", "no")];
const PROVISIONED: &[Setting] = &[
    ("DocumentProvisioned", "10"),
    ("EnterProvisioned", "20"),
    ("ClaimProvisioned", "20"),
    ("StatusProvisioned", "100"),
    ("ValidateProvisioned", "20"),
];
const CANARY: &[Setting] = &[("VersionShift", "Canary10Percent5Minutes")];
const WAF: &[Setting] = &[("WafEntriesPerFiveMinutes", "100")];
const PROTECTED_API: &[Setting] = &[("AuthorizerQueues", "sale-*")];
const DOMAINS: &[Setting] = &[
    ("PageDomainName", "wait.shop.example"),
    (
        "PageCertificateArn",
        "arn:aws:acm:us-east-1:123456789012:certificate/0a1b",
    ),
    ("DomainName", "api.shop.example"),
    (
        "CertificateArn",
        "arn:aws:acm:ap-southeast-1:123456789012:certificate/2c3d",
    ),
    ("HostedZoneId", "Z0123456789"),
];

const fn trial(name: &'static str, groups: &'static [&'static [Setting]]) -> ParameterSet {
    ParameterSet {
        name,
        account_executions: NEW_ACCOUNT,
        groups,
    }
}

/// The groups begin with [`SALE`].
const fn sale(name: &'static str, groups: &'static [&'static [Setting]]) -> ParameterSet {
    ParameterSet {
        name,
        account_executions: FULL_ACCOUNT,
        groups,
    }
}

/// All sets. The first is the defaults.
pub(crate) const SETS: [ParameterSet; 22] = [
    trial("defaults", &[]),
    sale("a sale", &[SALE]),
    trial("no distribution", &[NO_CDN]),
    trial("a VPC of the owner", &[OWN_VPC]),
    trial(
        "a VPC of the owner, with endpoints of the stack",
        &[OWN_VPC, ROUTES],
    ),
    trial(
        "the same with the bus and given secrets",
        &[OWN_VPC, ROUTES, BUS, KEYS, ORIGIN_KEY],
    ),
    trial("the bus", &[BUS]),
    trial("given secrets", &[KEYS, ORIGIN_KEY]),
    trial("a given origin key and no distribution", &[ORIGIN_KEY, NO_CDN]),
    sale("nodes", &[SALE, &[("CacheNodeType", "cache.m7g.large")]]),
    trial("a Redis of the owner", &[OWN_REDIS]),
    trial(
        "a Redis of the owner in a VPC",
        &[
            OWN_REDIS,
            &[
                ("SubnetIds", "subnet-0a1b2c3d,subnet-4e5f6a7b"),
                ("SecurityGroupIds", "sg-0a1b2c3d"),
            ],
        ],
    ),
    sale("provisioned concurrency", &[SALE, PROVISIONED]),
    sale("a canary", &[SALE, PROVISIONED, CANARY]),
    trial(
        "API keys",
        &[&[("VisitorAuth", "api-key"), ("ServiceAuth", "api-key")]],
    ),
    trial(
        "IAM visitors",
        &[&[
            ("VisitorAuth", "iam"),
            ("ServiceCallers", "arn:aws:iam::123456789012:role/shop"),
        ]],
    ),
    trial(
        "visitors of Cognito",
        &[&[
            ("VisitorAuth", "cognito"),
            (
                "CognitoUserPoolArn",
                "arn:aws:cognito-idp:ap-southeast-1:123456789012:userpool/ap-southeast-1_a",
            ),
        ]],
    ),
    trial(
        "an authorizer",
        &[&[
            ("VisitorAuth", "lambda"),
            (
                "VisitorAuthorizerArn",
                "arn:aws:lambda:ap-southeast-1:123456789012:function:login",
            ),
        ]],
    ),
    sale("an API behind the authorizer", &[SALE, PROTECTED_API]),
    trial("a WAF", &[WAF]),
    trial("domains", &[DOMAINS]),
    sale(
        "everything",
        &[
            SALE,
            BUS,
            DOMAINS,
            PROVISIONED,
            CANARY,
            WAF,
            PROTECTED_API,
            &[
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
        ],
    ),
];
