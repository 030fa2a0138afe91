//! How many functions may run at once: in the account, for each function, and for held polls.

use vestibule_domain::preflight::Finding;
use vestibule_sizing::{ceilings::FUNCTION_NAMES, facts::UNRESERVED_EXECUTIONS};

use super::unanswered::unanswered;
use crate::account_answers::{Answer, ExecutionQuota, FunctionAnswer, StackAnswer};

/// Whether the account may run what the stack reserves.
pub(super) fn quota_finding(stack: &StackAnswer, executions: &Answer<ExecutionQuota>) -> Finding {
    const CHECK: &str = "concurrency";
    let limit = match executions {
        Ok(executions) => executions.limit,
        Err(reason) => {
            return unanswered(
                CHECK,
                reason,
                "give yourself the right lambda:GetAccountSettings, or look the quota up in Service Quotas",
            );
        }
    };
    let needed = match reserved_by(stack) {
        0 => executions_at_least(stack),
        // Lambda refuses a reservation that leaves fewer for the other functions of the account.
        reserved => reserved.max(stack.number("HeldBudget")) + UNRESERVED_EXECUTIONS.whole(),
    };
    let found = format!("the account may run {limit} functions at once, and the stack needs {needed}");
    if limit < needed {
        Finding::fault(
            CHECK,
            found,
            format!(
                "raise the quota of concurrent executions of Lambda to at least {needed}, or deploy Size=trial with the \
                 parameters …Concurrency and HeldBudget by size"
            ),
        )
    } else {
        Finding::ok(CHECK, found)
    }
}

/// What a stack needs that reserves no execution: one for each held poll and each function that answers visitors, and two
/// for the promoter, whose runs overlap.
fn executions_at_least(stack: &StackAnswer) -> u32 {
    let is_given = |name: &str| u32::from(!stack.text(name).is_empty());
    let of_api = u32::try_from(FUNCTION_NAMES.len()).unwrap_or(u32::MAX);
    stack.number("HeldBudget") + 2 + of_api + is_given("VisitorAuthorizerArn") + is_given("AuthorizerQueues")
}

/// The executions that the parameters of the stack reserve.
fn reserved_by(stack: &StackAnswer) -> u32 {
    let of_api = FUNCTION_NAMES.iter();
    let of_api: u32 = of_api
        .map(|name| stack.number(&concurrency_parameter(name)))
        .sum();
    let has_authorizer = !stack.text("AuthorizerQueues").is_empty();
    let of_authorizer = if has_authorizer {
        stack.number("AuthorizerConcurrency")
    } else {
        0
    };
    // One parameter is for two functions.
    let of_operators = 2 * stack.number("OperatorConcurrency");
    of_api + of_authorizer + stack.number("PromoterConcurrency") + of_operators
}

/// Whether the functions have the concurrency that the stack was given.
pub(super) fn functions_finding(stack: &StackAnswer, functions: &[FunctionAnswer]) -> Finding {
    const CHECK: &str = "function-concurrency";
    let mut wrong = Vec::new();
    for (name, function) in FUNCTION_NAMES.iter().zip(functions) {
        let wanted = match stack.number(&concurrency_parameter(name)) {
            0 => None,
            wanted => Some(wanted),
        };
        match &function.reserved {
            Err(reason) => {
                return unanswered(
                    CHECK,
                    reason,
                    "give yourself the right lambda:GetFunctionConcurrency on the functions of the stack",
                );
            }
            Ok(reserved) if *reserved != wanted => {
                wrong.push(format!(
                    "{name}Function {} instead of {}",
                    words(*reserved),
                    words(wanted)
                ));
            }
            Ok(_) => {}
        }
    }
    if wrong.is_empty() {
        return Finding::ok(CHECK, "the functions have the concurrency of the parameters");
    }
    Finding::fault(
        CHECK,
        format!("changed since the deployment: {}", wrong.join(", ")),
        "set the parameters …Concurrency to what you want, and deploy: that sets the functions back",
    )
}

fn words(reserved: Option<u32>) -> String {
    reserved.map_or_else(|| "none reserved".to_owned(), |reserved| reserved.to_string())
}

/// Whether held polls leave executions for the other status requests.
pub(super) fn held_polls_finding(stack: &StackAnswer) -> Finding {
    const CHECK: &str = "held-polls";
    let (budget, reserved) = (stack.number("HeldBudget"), stack.number("StatusConcurrency"));
    let found = match reserved {
        0 => format!("{budget} polls may be held, and StatusFunction has no limit of its own"),
        _ => format!("{budget} polls may be held by {reserved} executions of StatusFunction"),
    };
    if reserved != 0 && budget >= reserved {
        Finding::fault(
            CHECK,
            found,
            "set HeldBudget below StatusConcurrency: each held poll occupies one execution",
        )
    } else {
        Finding::ok(CHECK, found)
    }
}

/// The parameter with the concurrency of a function.
pub(super) fn concurrency_parameter(function: &str) -> String {
    format!("{function}Concurrency")
}
