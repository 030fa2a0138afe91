//! The inputs of a plan: limits and list prices of AWS, and our measurements. Each fact has its source.

/// The month of which the prices and the quotas are, as year and month. Prices are those of us-east-1 without free tiers,
/// savings plans and taxes.
pub const FACTS_OF: &str = "2026-11";

/// One fact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fact {
    /// What it is of.
    pub what: &'static str,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// A page of AWS, the command that measures it, or the file that sets it.
    pub source: &'static str,
}

impl Fact {
    /// The number, which is a whole one.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub const fn whole(self) -> u32 {
        self.value as u32
    }

    pub(crate) const fn new(
        what: &'static str,
        value: f64,
        unit: &'static str,
        source: &'static str,
    ) -> Self {
        Self {
            what,
            value,
            unit,
            source,
        }
    }

    /// A price that the page tells for a million.
    pub(crate) const fn per_million(what: &'static str, dollars: f64, source: &'static str) -> Self {
        Self::new(what, dollars / 1_000_000.0, "USD", source)
    }

    pub(crate) const fn price(what: &'static str, dollars: f64, source: &'static str) -> Self {
        Self::new(what, dollars, "USD", source)
    }
}

const API_PRICES: &str = "https://aws.amazon.com/api-gateway/pricing";
pub(crate) const FUNCTION_PRICES: &str = "https://aws.amazon.com/lambda/pricing";
const TABLE_PRICES: &str = "https://aws.amazon.com/dynamodb/pricing/on-demand";
pub(crate) const CACHE_PRICES: &str = "https://aws.amazon.com/elasticache/pricing";
const CDN_PRICES: &str = "https://aws.amazon.com/cloudfront/pricing";
const LOG_PRICES: &str = "https://aws.amazon.com/cloudwatch/pricing";
const ESTIMATE: &str = "an estimate; docs/deploying.md says how to measure yours";
const BENCH_LINE: &str = "make bench NAME=line";
const BENCH_RESTORE: &str = "FUNCTION_MB=1024 make bench NAME=restore";

macro_rules! facts {
    ($($(#[$doc:meta])* $name:ident = $fact:expr;)+) => {
        $($(#[$doc])* pub const $name: Fact = $fact;)+

        /// All facts.
        pub const FACTS: &[Fact] = &[$($name),+];
    };
}

facts! {
    /// Requests per second for all REST APIs of an account.
    GATEWAY_PER_SECOND = Fact::new("API Gateway, all REST APIs of an account", 10_000.0, "requests per second",
        "https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html");
    /// Requests that API Gateway serves at once.
    GATEWAY_BURST = Fact::new("API Gateway, burst", 5_000.0, "requests",
        "https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html");
    /// Requests per second that Lambda serves for each unit of concurrency.
    REQUESTS_PER_EXECUTION = Fact::new("Lambda, for each unit of concurrency", 10.0, "requests per second",
        "https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html");
    /// Executions at once that a new account may have.
    ACCOUNT_EXECUTIONS = Fact::new("Lambda, account", 1_000.0, "executions at once",
        "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html");
    /// Processing units per second of one hash slot of a serverless cache.
    SLOT_ECPU = Fact::new("ElastiCache Serverless, one hash slot", 30_000.0, "ECPU per second",
        "https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/quota-limits.html");
    /// Entry polls per second that one hash slot of a serverless cache answers: its processing units, divided by those of a
    /// poll with what a poll takes of the snapshot.
    SERVERLESS_SLOT_POLLS = Fact::new("ElastiCache Serverless, one queue", 2_900.0, "entry polls per second", ESTIMATE);
    /// Entry polls per second that the hash slot of a node answers, on one core.
    NODE_SLOT_POLLS = Fact::new("a node of ElastiCache, one queue", 40_000.0, "entry polls per second", BENCH_LINE);
    /// Writes per second that a new table on demand takes at once.
    NEW_TABLE_WRITES = Fact::new("DynamoDB, new table on demand", 4_000.0, "writes per second",
        "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html");
    /// Reads per second that a new table on demand takes at once.
    NEW_TABLE_READS = Fact::new("DynamoDB, new table on demand", 12_000.0, "reads per second",
        "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html");
    /// Executions of the account that no function may reserve.
    UNRESERVED_EXECUTIONS = Fact::new("Lambda, account, for functions without a reservation", 100.0, "executions at once",
        "https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html");
    /// The processor time of a restore for each entry, in a function with 1,024 MB.
    RESTORE_SECONDS_PER_ENTRY = Fact::new("a restore, for each entry", 21.0e-6, "s", BENCH_RESTORE);
    /// The entries that one read unit reads in a restore.
    RESTORE_ENTRIES_PER_READ = Fact::new("a restore, of one read unit", 14.0, "entries", BENCH_RESTORE);
    /// Requests per second of a distribution.
    CDN_PER_SECOND = Fact::new("CloudFront, one distribution", 250_000.0, "requests per second",
        "https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html");
    /// The default of the parameter `HeldBudget`.
    HELD_BUDGET = Fact::new("polls that are held at once", 200.0, "polls", "template.yaml, HeldBudget of a sale");
    /// Writes that a visitor needs: entering, the turn, the claim and the end.
    WRITES_PER_VISITOR = Fact::new("table writes of a visitor", 4.0, "writes", "shared/domain/src/change.rs");
    /// Consistent reads for a visitor: of the own record when entering, and in the check.
    READS_PER_VISITOR = Fact::new("table reads of a visitor", 5.0, "reads", ESTIMATE);
    /// Processing units for an entry poll.
    ECPU_PER_POLL = Fact::new("ElastiCache Serverless, entry poll", 10.0, "ECPU", ESTIMATE);
    /// The memory of the cache for one entry. A visitor also has a record in the journal for a moment.
    GB_PER_ENTRY = Fact::new("memory of the cache for an entry", 126.0e-9, "GB", BENCH_LINE);
    /// The least memory that is charged for a serverless cache.
    CACHE_GB_MIN = Fact::new("ElastiCache Serverless, least charge", 0.1, "GB", CACHE_PRICES);
    /// How long a request occupies a function.
    REQUEST_SECONDS = Fact::new("time of a request in a function", 0.01, "s", ESTIMATE);
    /// The memory of most functions.
    FUNCTION_GB = Fact::new("memory of a function", 0.5, "GB", "template.yaml, MemorySize");
    /// The memory of the status function, whose executions wait while they hold a poll.
    STATUS_GB = Fact::new("memory of the status function", 0.25, "GB", "template.yaml, MemorySize");
    /// The size of a public document with its headers.
    DOCUMENT_GB = Fact::new("a public document with its headers", 1.2e-6, "GB", ESTIMATE);
    /// The size of the log line of a request.
    LOG_LINE_GB = Fact::new("the log line of a request", 0.33e-6, "GB", "template.yaml, AccessLogSetting");
    /// One request of a REST API.
    API_REQUEST = Fact::per_million("a request of a REST API", 3.5, API_PRICES);
    /// One request of a function.
    FUNCTION_REQUEST = Fact::per_million("a request of a function", 0.2, FUNCTION_PRICES);
    /// One gigabyte-second of a function on arm64.
    FUNCTION_GB_SECOND = Fact::price("a GB-second of a function on arm64", 0.000_013_333_4, FUNCTION_PRICES);
    /// One write of up to 1 KB, on demand.
    TABLE_WRITE = Fact::per_million("a write of a table", 0.625, TABLE_PRICES);
    /// One consistent read of up to 4 KB, on demand.
    TABLE_READ = Fact::per_million("a read of a table", 0.125, TABLE_PRICES);
    /// One processing unit (ECPU) of ElastiCache Serverless for Valkey.
    CACHE_ECPU = Fact::per_million("an ECPU of ElastiCache Serverless", 0.0023, CACHE_PRICES);
    /// One gigabyte-hour of ElastiCache Serverless for Valkey.
    CACHE_GB_HOUR = Fact::price("a GB-hour of ElastiCache Serverless", 0.084, CACHE_PRICES);
    /// One hour of a node cache.r7g.large with Valkey. The template runs two.
    CACHE_NODE_HOUR = Fact::price("an hour of a node cache.r7g.large", 0.1752, CACHE_PRICES);
    /// One HTTPS request to `CloudFront`.
    CDN_REQUEST = Fact::per_million("a request of CloudFront", 1.0, CDN_PRICES);
    /// One gigabyte that `CloudFront` sends to visitors.
    CDN_GB = Fact::price("a GB from CloudFront", 0.085, CDN_PRICES);
    /// One run of a function of `CloudFront`. The distribution of the stack runs one for each request.
    CDN_FUNCTION = Fact::per_million("a run of a CloudFront function", 0.1, CDN_PRICES);
    /// One gigabyte that an API sends to visitors. What it sends to `CloudFront` costs nothing.
    API_GB = Fact::price("a GB from API Gateway", 0.09, "https://aws.amazon.com/ec2/pricing/on-demand");
    /// One gigabyte of logs.
    LOG_GB = Fact::price("a GB of logs", 0.5, LOG_PRICES);
}
