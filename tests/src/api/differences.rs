//! What the backends of the conformance suite may do differently: all of it, here and nowhere else. Each is the doing of
//! the gateway in front, or of a process on a laptop that has none, and never of Vestibule's own routes.

use crate::edge::Answer;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The local runner, in memory and a file.
    Runner,
    /// The local runner with Redis and DynamoDB.
    RunnerWithServers,
    /// The functions under Lambda and API Gateway of this harness.
    Functions,
    /// The same with the line in a cluster, by TLS.
    FunctionsOnCluster,
    /// `sam local start-api`.
    SamLocal,
    /// The stack deployed on `MiniStack`.
    MiniStack,
    /// The stack deployed in an account.
    ApiGateway,
}

impl Kind {
    /// What the names of its tests start with.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runner => "runner",
            Self::RunnerWithServers => "runner_with_servers",
            Self::Functions => "functions",
            Self::FunctionsOnCluster => "functions_on_cluster",
            Self::SamLocal => "sam_local",
            Self::MiniStack => "ministack",
            Self::ApiGateway => "api_gateway",
        }
    }

    /// Which of those that run already it is: `TEST_GATEWAY` says so, else the address does.
    pub fn of_url(url: &str) -> Self {
        match std::env::var("TEST_GATEWAY").as_deref() {
            Ok("sam-local") => Self::SamLocal,
            Ok("ministack") => Self::MiniStack,
            Ok("api-gateway") => Self::ApiGateway,
            Ok(other) if !other.is_empty() => {
                panic!("TEST_GATEWAY is sam-local, ministack or api-gateway, and not {other}")
            }
            _ if url.contains("/_aws/execute-api/") || url.contains("/restapis/") => Self::MiniStack,
            _ if url.contains(".execute-api.") => Self::ApiGateway,
            _ => Self::SamLocal,
        }
    }

    /// The runner on a laptop has no gateway.
    pub fn is_runner(self) -> bool {
        matches!(self, Self::Runner | Self::RunnerWithServers)
    }

    /// A laptop has no TLS, so its cookie cannot have the prefix that wants it.
    pub fn cookie(self) -> &'static str {
        if self.is_runner() {
            "vestibule-visitor"
        } else {
            "__Host-vestibule-visitor"
        }
    }

    /// An address that there is not: API Gateway says that a token is missing, whatever the address, and so do those who
    /// imitate it.
    pub fn has_no_such_route(self, answer: &Answer) {
        if self.is_runner() {
            answer.is_problem(404, "unknown-route");
        } else {
            self.refused_by_gateway(answer, "unsigned");
        }
    }

    /// An address that does not take the verb: API Gateway knows no such thing as 405.
    pub fn takes_no_such_verb(self, answer: &Answer, allowed: &str) {
        if self.is_runner() {
            answer.is_problem(405, "method-not-allowed");
            assert_eq!(answer.header("allow"), allowed);
        } else {
            self.refused_by_gateway(answer, "unsigned");
        }
    }

    /// Whether each request has an id of its own: the SAM CLI draws one when it starts, and gives it to all of them.
    pub fn tells_requests_apart(self) -> bool {
        self != Self::SamLocal
    }

    /// The gateway's own 403. Those who imitate it do not know what the document says of it.
    pub fn refused_by_gateway(self, answer: &Answer, code: &str) {
        match self {
            Self::SamLocal | Self::MiniStack => answer.is(403),
            _ => answer.is_problem(403, code),
        };
    }

    /// A wrong body where the document has the gateway check it. It cannot say which field is wrong.
    pub fn refuses_checked_body(self, answer: &Answer, field: &str) {
        match self {
            Self::MiniStack | Self::ApiGateway if answer.body["field"] == "body" => answer.refuses("body"),
            _ => answer.refuses(field),
        };
    }
}
