//! The backends of the HTTP suite, and every difference between them that the suite accepts. Each difference
//! comes from the gateway in front, or from the lack of one, and never from Vestibule's own routes.

use super::ApiResponse;

/// A way of running the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// The routes in the process of the test, with the line inside the process and the backup in a file.
    InProcess,
    /// The local runner, with the line inside the process and the backup in a file.
    Runner,
    /// The local runner with Redis and DynamoDB.
    RunnerWithServers,
    /// The functions under the Lambda and the API Gateway of this harness.
    Functions,
    /// The functions with the line in a Redis cluster, over TLS.
    FunctionsOnCluster,
    /// `sam local start-api`.
    SamLocal,
    /// The stack deployed on `MiniStack`.
    MiniStack,
    /// The stack deployed in an AWS account.
    ApiGateway,
}

impl BackendKind {
    /// Returns the prefix of the names of its tests.
    pub fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in_process",
            Self::Runner => "runner",
            Self::RunnerWithServers => "runner_with_servers",
            Self::Functions => "functions",
            Self::FunctionsOnCluster => "functions_on_cluster",
            Self::SamLocal => "sam_local",
            Self::MiniStack => "ministack",
            Self::ApiGateway => "api_gateway",
        }
    }

    /// Returns the kind of a running API from `TEST_GATEWAY`, or else from its URL.
    pub fn of_url(url: &str) -> Self {
        match std::env::var("TEST_GATEWAY").as_deref() {
            Ok("sam-local") => Self::SamLocal,
            Ok("ministack") => Self::MiniStack,
            Ok("api-gateway") => Self::ApiGateway,
            Ok(other) if !other.is_empty() => {
                panic!("TEST_GATEWAY must be sam-local, ministack or api-gateway, and is {other}")
            }
            _ if url.contains("/_aws/execute-api/") || url.contains("/restapis/") => Self::MiniStack,
            _ if url.contains(".execute-api.") => Self::ApiGateway,
            _ => Self::SamLocal,
        }
    }

    /// Whether requests reach the routes without a gateway in front.
    pub fn has_no_gateway(self) -> bool {
        matches!(self, Self::InProcess | Self::Runner | Self::RunnerWithServers)
    }

    /// Whether a path with a slash at its end leads to the route without it. API Gateway routes it so; its emulators differ.
    pub fn routes_a_trailing_slash(self) -> bool {
        !matches!(self, Self::SamLocal | Self::MiniStack)
    }

    /// Returns the name of the visitor cookie. Without a gateway there is no TLS, which the prefix `__Host-`
    /// requires.
    pub fn cookie_name(self) -> &'static str {
        if self.has_no_gateway() {
            "vestibule-visitor"
        } else {
            "__Host-vestibule-visitor"
        }
    }

    /// Asserts the response of a path that does not exist. API Gateway and its emulators answer every such path
    /// as if a signature were missing.
    pub fn expect_unknown_route(self, response: &ApiResponse) {
        if self.has_no_gateway() {
            response.expect_problem(404, "unknown-route");
        } else {
            self.expect_gateway_refusal(response, "unsigned");
        }
    }

    /// Asserts the response of a path that does not accept the method. API Gateway never answers with 405.
    pub fn expect_method_not_allowed(self, response: &ApiResponse, allowed: &str) {
        if self.has_no_gateway() {
            response.expect_problem(405, "method-not-allowed");
            assert_eq!(response.header("allow"), allowed);
        } else {
            self.expect_gateway_refusal(response, "unsigned");
        }
    }

    /// Whether each request gets an id of its own. The SAM CLI draws one id when it starts and gives it to every
    /// request.
    pub fn draws_request_ids(self) -> bool {
        self != Self::SamLocal
    }

    /// Asserts the 403 of the gateway itself. Emulators ignore what the `OpenAPI` document says of its body.
    pub fn expect_gateway_refusal(self, response: &ApiResponse, code: &str) {
        match self {
            Self::SamLocal | Self::MiniStack => response.expect_status(403),
            _ => response.expect_problem(403, code),
        };
    }

    /// Asserts the refusal of a body that the gateway may check against the `OpenAPI` document. The gateway names
    /// no field.
    pub fn expect_invalid_body_field(self, response: &ApiResponse, field: &str) {
        match self {
            Self::MiniStack | Self::ApiGateway if response.body["field"] == "body" => {
                response.expect_invalid_field("body")
            }
            _ => response.expect_invalid_field(field),
        };
    }
}
