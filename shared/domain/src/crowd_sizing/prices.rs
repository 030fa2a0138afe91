//! List prices of AWS in us-east-1, in US dollars, without free tiers, savings plans and taxes.

/// When the prices were known to hold, as year and month.
pub const PRICES_OF: &str = "2026-11";

/// A price, and the page of AWS that has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Dollars for one unit.
    pub dollars: f64,
    /// The page, behind `https://aws.amazon.com/`.
    pub page: &'static str,
}

const fn per_million(dollars: f64, page: &'static str) -> Price {
    Price {
        dollars: dollars / 1_000_000.0,
        page,
    }
}

const fn per_unit(dollars: f64, page: &'static str) -> Price {
    Price { dollars, page }
}

/// One request of a REST API.
pub const API_REQUEST: Price = per_million(3.5, "api-gateway/pricing");
/// One request of a function.
pub const FUNCTION_REQUEST: Price = per_million(0.2, "lambda/pricing");
/// One gigabyte-second of a function on arm64.
pub const FUNCTION_GB_SECOND: Price = per_unit(0.000_013_333_4, "lambda/pricing");
/// One write of up to 1 KB, on demand.
pub const TABLE_WRITE: Price = per_million(0.625, "dynamodb/pricing/on-demand");
/// One consistent read of up to 4 KB, on demand.
pub const TABLE_READ: Price = per_million(0.125, "dynamodb/pricing/on-demand");
/// One processing unit (ECPU) of ElastiCache Serverless for Valkey.
pub const CACHE_ECPU: Price = per_million(0.0023, "elasticache/pricing");
/// One gigabyte-hour of ElastiCache Serverless for Valkey.
pub const CACHE_GB_HOUR: Price = per_unit(0.084, "elasticache/pricing");
/// One hour of a node cache.r7g.large with Valkey. The template runs two.
pub const CACHE_NODE_HOUR: Price = per_unit(0.1752, "elasticache/pricing");
/// One HTTPS request to `CloudFront`.
pub const CDN_REQUEST: Price = per_million(1.0, "cloudfront/pricing");
/// One gigabyte that `CloudFront` sends to visitors.
pub const CDN_GB: Price = per_unit(0.085, "cloudfront/pricing");
/// One gigabyte of logs.
pub const LOG_GB: Price = per_unit(0.5, "cloudwatch/pricing");
