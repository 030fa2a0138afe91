//! The way to the admin function of a stack.

use async_trait::async_trait;
use serde_json::Value;
use vestibule_aws::admin_client::AdminFunction;
use vestibule_aws::stack::StackError;
use vestibule_console::{AdminCaller, AdminUnreachable};
use vestibule_domain::right::Right;
use vestibule_wire::commands::Operation;

/// The names of the admin function that the operator may invoke, with the operator's credentials.
pub(crate) struct StackAdmin {
    /// By the right that each gives, the least first. There is at least one.
    functions: Vec<(Right, AdminFunction)>,
}

impl StackAdmin {
    /// Finds the aliases that the operator may invoke. `connect` gives the function by the right of its alias, and `itself` is
    /// the function without an alias, which gives every right. It does not matter whether the function fails: the console is
    /// needed most during an outage.
    ///
    /// # Errors
    /// [`StackError`] if the operator may invoke none of them.
    pub(crate) async fn find(
        connect: impl Fn(Right) -> AdminFunction,
        itself: AdminFunction,
    ) -> Result<Self, StackError> {
        let candidates = Right::ALL.map(|right| (right, connect(right)));
        let mut functions = Vec::new();
        for (right, function) in candidates.into_iter().chain([(Right::End, itself)]) {
            // If Lambda does not say, each command finds out.
            let is_allowed = function.may_invoke().await.unwrap_or(true);
            if is_allowed {
                functions.push((right, function));
            }
        }
        if functions.is_empty() {
            return Err(StackError::InvokeForbidden(
                "you may invoke neither AdminFunction nor one of its aliases".to_owned(),
            ));
        }
        Ok(Self { functions })
    }

    /// The function by the least right that suffices. Without one, the function itself tells which right is needed.
    fn function_for(&self, command: &Value) -> &AdminFunction {
        let operation = command["op"].as_str().unwrap_or_default();
        // An update that must be confirmed may close or finish a queue.
        let may_end = operation == "update" && command.get("confirm").is_some();
        let needed = if may_end {
            Right::End
        } else {
            Operation::find(operation).map_or(Right::Operate, |operation| operation.right)
        };
        let sufficient = self.functions.iter().find(|(right, _)| *right >= needed);
        let (_, function) = sufficient.or(self.functions.last()).expect("there is one");
        function
    }
}

#[async_trait]
impl AdminCaller for StackAdmin {
    async fn call(&self, command: Value) -> Result<Value, AdminUnreachable> {
        let answer = self.function_for(&command).invoke(&command).await;
        answer.map_err(|error| AdminUnreachable(error.to_string()))
    }

    fn right(&self) -> Right {
        let rights = self.functions.iter().map(|(right, _)| *right);
        rights.max().unwrap_or_default()
    }
}
