//! Sends the commands of operators to the admin function of a deployment, with the AWS credentials of the caller. IAM
//! decides who may invoke the function, and the function logs who sent each order.

use std::time::Duration;

use aws_config::{SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_sdk_lambda::{Client, config, primitives::Blob, types::InvocationType};
use serde_json::Value;

/// The longest time that the admin function takes (`Timeout` in `template.yaml`), and the way there.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(310);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub enum InvokeError {
    /// Lambda did not run the function: its rights, its name, the network or a limit.
    #[error("could not invoke the admin function {function}: {reason}")]
    NotInvoked {
        /// The name or ARN of the function.
        function: String,
        /// The error code of Lambda with its message, or the chain of causes.
        reason: String,
    },
    /// The function ended without an answer, such as by its timeout. The command may have been carried out.
    #[error("the admin function {function} failed: {answer}")]
    Failed {
        /// The name or ARN of the function.
        function: String,
        /// What Lambda answered for the function.
        answer: String,
    },
    /// The answer is not JSON.
    #[error("the admin function {function} did not answer with JSON: {source}")]
    NotJson {
        /// The name or ARN of the function.
        function: String,
        /// Where the answer is no JSON.
        source: serde_json::Error,
    },
}

impl InvokeError {
    /// Whether the caller lacks the right to invoke the function.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::NotInvoked { reason, .. } if reason.starts_with("AccessDenied"))
    }
}

/// The admin function of one deployment.
#[derive(Debug, Clone)]
pub struct AdminFunction {
    client: Client,
    /// Its name or ARN.
    name: String,
}

impl AdminFunction {
    /// Creates a client for the function with this name or ARN. `endpoint_url` is an address of Lambda other than the
    /// region's own. No call is sent yet.
    pub fn new(aws: &SdkConfig, name: String, endpoint_url: Option<&str>) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_timeout(OPERATION_TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .build();
        // An order that is sent twice could be carried out twice, such as `promote`.
        let client = config::Builder::from(&crate::config_for_endpoint(aws, endpoint_url))
            .timeout_config(timeouts)
            .retry_config(RetryConfig::disabled());
        Self {
            client: Client::from_conf(client.build()),
            name,
        }
    }

    /// Asks Lambda whether the caller may invoke the function. It does not run.
    ///
    /// # Errors
    /// [`InvokeError`] if Lambda does not say.
    pub async fn may_invoke(&self) -> Result<bool, InvokeError> {
        let call = self.client.invoke().function_name(&self.name);
        match call.invocation_type(InvocationType::DryRun).send().await {
            Ok(_) => Ok(true),
            Err(error) => {
                let error = InvokeError::NotInvoked {
                    function: self.name.clone(),
                    reason: crate::failure_reason(&error),
                };
                if error.is_forbidden() {
                    Ok(false)
                } else {
                    Err(error)
                }
            }
        }
    }

    /// Sends one command, `{"op": …}`, and returns the answer of the function, `{"ok": …}`. It is sent once: after an error
    /// the caller cannot know whether the command was carried out.
    ///
    /// # Errors
    ///
    /// See [`InvokeError`]. A command that the function refuses is no error; its answer has `"ok": false` and a problem.
    pub async fn invoke(&self, command: &Value) -> Result<Value, InvokeError> {
        let function = || self.name.clone();
        let call = self.client.invoke().function_name(&self.name);
        let answer = call
            .payload(Blob::new(command.to_string()))
            .send()
            .await
            .map_err(|error| InvokeError::NotInvoked {
                function: function(),
                reason: crate::failure_reason(&error),
            })?;
        let payload = answer.payload().map(Blob::as_ref).unwrap_or_default();
        if answer.function_error().is_some() {
            return Err(InvokeError::Failed {
                function: function(),
                answer: String::from_utf8_lossy(payload).into_owned(),
            });
        }
        serde_json::from_slice(payload).map_err(|source| InvokeError::NotJson {
            function: function(),
            source,
        })
    }
}
