//! The size of the stack.

use vestibule_domain::preflight::Finding;

use crate::account_answers::StackAnswer;

/// Whether the stack has the size of a sale.
pub(super) fn size_finding(stack: &StackAnswer) -> Finding {
    const CHECK: &str = "size";
    if !stack.is_trial() {
        return Finding::ok(CHECK, "the stack has the size of a sale");
    }
    let (entering, held) = (stack.number("EnterThrottleRate"), stack.number("HeldBudget"));
    Finding::fault(
        CHECK,
        format!("the stack is a trial: {entering} visitors may enter per second, and {held} polls be held"),
        "deploy Size=sale before the event. Lambda needs the quota of concurrent executions that the guide names",
    )
}
