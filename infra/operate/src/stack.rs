//! Finds the admin function of a stack by the stack's outputs.

use aws_config::SdkConfig;
use aws_credential_types::provider::ProvideCredentials;
use aws_sdk_cloudformation::{
    Client, config,
    error::ProvideErrorMetadata,
    types::{Output, Stack as StackDescription},
};

use crate::start_error::StartError;

/// What the outputs of a stack say.
#[derive(Debug)]
pub(crate) struct Stack {
    /// The region in which the stack is.
    pub(crate) region: String,
    /// The name of the admin function.
    pub(crate) admin_function: String,
    /// The address of the waiting page.
    pub(crate) page_url: Option<String>,
}

/// Verifies that there are credentials, before a call fails for a reason that is hard to read.
async fn require_credentials(aws: &SdkConfig) -> Result<(), StartError> {
    let Some(provider) = aws.credentials_provider() else {
        return Err(StartError::NoCredentials("there is no provider".to_owned()));
    };
    match provider.provide_credentials().await {
        Ok(_) => Ok(()),
        Err(error) => {
            // The SDK lists each provider in a line of its own.
            let reason = vestibule_aws::error_chain(&error);
            let words: Vec<_> = reason.split_whitespace().collect();
            Err(StartError::NoCredentials(words.join(" ")))
        }
    }
}

/// Reads the outputs of the stack.
pub(crate) async fn read_stack(
    aws: &SdkConfig,
    endpoint: Option<&str>,
    stack: &str,
) -> Result<Stack, StartError> {
    let region = aws.region().ok_or(StartError::NoRegion)?.to_string();
    require_credentials(aws).await?;
    let aws = vestibule_aws::config_for_endpoint(aws, endpoint);
    let client = Client::from_conf(config::Builder::from(&aws).build());
    let answer = client.describe_stacks().stack_name(stack).send().await;
    let answer = answer.map_err(|error| {
        let reason = vestibule_aws::failure_reason(&error);
        let (stack, region) = (stack.to_owned(), region.clone());
        match (error.code(), error.message()) {
            (Some("ValidationError"), Some(message)) if message.contains("not exist") => {
                StartError::NoStack { stack, region }
            }
            (Some("AccessDenied" | "AccessDeniedException"), _) => {
                StartError::StackForbidden { stack, reason }
            }
            _ => StartError::StackUnreadable { stack, reason },
        }
    })?;
    let outputs = answer
        .stacks()
        .first()
        .map(StackDescription::outputs)
        .unwrap_or_default();
    let admin_function = find_output(outputs, "AdminFunction");
    Ok(Stack {
        region,
        admin_function: admin_function.ok_or_else(|| StartError::NoAdminFunction(stack.to_owned()))?,
        page_url: find_output(outputs, "WaitingRoomUrl"),
    })
}

fn find_output(outputs: &[Output], name: &str) -> Option<String> {
    let output = outputs.iter().find(|output| output.output_key() == Some(name))?;
    output.output_value().map(str::to_owned)
}
