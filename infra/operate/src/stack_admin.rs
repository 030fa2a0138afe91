//! The way to the admin function of a stack.

use async_trait::async_trait;
use serde_json::{Value, json};
use vestibule_admin_client::AdminFunction;
use vestibule_console::{AdminCaller, AdminUnreachable};
use vestibule_stack::StackError;

/// The admin function of a stack, with the credentials of the operator.
pub(crate) struct StackAdmin(pub(crate) AdminFunction);

impl StackAdmin {
    /// Verifies that the operator may invoke the function. A function that fails is none of its business: the console is
    /// needed most during an outage.
    pub(crate) async fn require_permission(&self) -> Result<(), StackError> {
        match self.0.invoke(&json!({ "op": "list" })).await {
            Err(error) if error.is_forbidden() => Err(StackError::InvokeForbidden(error.to_string())),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl AdminCaller for StackAdmin {
    async fn call(&self, command: Value) -> Result<Value, AdminUnreachable> {
        let answer = self.0.invoke(&command).await;
        answer.map_err(|error| AdminUnreachable(error.to_string()))
    }
}
