//! A deployed stack, as a person with AWS credentials sees it: what its template was given, and what it made.

mod stack_error;

use std::collections::BTreeMap;

use aws_config::SdkConfig;
use aws_credential_types::provider::ProvideCredentials;
use aws_sdk_cloudformation::{Client, config, error::ProvideErrorMetadata};

use vestibule_domain::right::Right;

pub use self::stack_error::StackError;

/// A stack of `template.yaml`.
#[derive(Debug, Clone)]
pub struct DeployedStack {
    /// Its name.
    pub name: String,
    /// The region in which the stack is.
    pub region: String,
    /// The name of the admin function.
    pub admin_function: String,
    /// The state of its last deployment, such as `UPDATE_COMPLETE`.
    pub status: String,
    /// The values of the parameters, those by default too.
    pub parameters: BTreeMap<String, String>,
    /// The outputs.
    pub outputs: BTreeMap<String, String>,
    client: Client,
}

impl DeployedStack {
    /// Reads the stack of this name. `endpoint` is the address of an emulator.
    ///
    /// # Errors
    /// [`StackError`], which says what the person can do.
    pub async fn read(aws: &SdkConfig, endpoint: Option<&str>, name: &str) -> Result<Self, StackError> {
        let region = aws.region().ok_or(StackError::NoRegion)?.to_string();
        require_credentials(aws).await?;
        let aws = crate::config_for_endpoint(aws, endpoint);
        let client = Client::from_conf(config::Builder::from(&aws).build());
        let answer = client.describe_stacks().stack_name(name).send().await;
        let answer = answer.map_err(|error| {
            let reason = crate::failure_reason(&error);
            let (stack, region) = (name.to_owned(), region.clone());
            match (error.code(), error.message()) {
                (Some("ValidationError"), Some(message)) if message.contains("not exist") => {
                    StackError::NoStack { stack, region }
                }
                (Some("AccessDenied" | "AccessDeniedException"), _) => {
                    StackError::StackForbidden { stack, reason }
                }
                _ => StackError::StackUnreadable { stack, reason },
            }
        })?;
        let no_admin_function = || StackError::NoAdminFunction(name.to_owned());
        let stack = answer.stacks().first().ok_or_else(no_admin_function)?;
        let outputs = stack.outputs().iter();
        let outputs: BTreeMap<_, _> =
            named_values(outputs.map(|output| (output.output_key(), output.output_value())));
        let parameters = stack.parameters().iter();
        let admin_function = outputs.get("AdminFunction").ok_or_else(no_admin_function)?;
        Ok(Self {
            name: name.to_owned(),
            region,
            admin_function: admin_function.clone(),
            status: stack
                .stack_status()
                .map_or_else(String::new, |status| status.as_str().to_owned()),
            parameters: named_values(
                parameters.map(|parameter| (parameter.parameter_key(), parameter.parameter_value())),
            ),
            outputs,
            client,
        })
    }

    /// The name by which a caller invokes the admin function with this right: an alias, or the function itself in a stack of an
    /// earlier template.
    pub fn admin_function_for(&self, right: Right) -> &str {
        let output = match right {
            Right::Look => "AdminLook",
            Right::Operate => "AdminOperate",
            Right::End => "AdminEnd",
        };
        self.outputs.get(output).unwrap_or(&self.admin_function)
    }

    /// The address of the waiting page, if it is known.
    pub fn page_url(&self) -> Option<String> {
        self.outputs.get("WaitingRoomUrl").cloned()
    }

    /// The id that AWS gave to a resource of the template.
    ///
    /// # Errors
    /// The reason why `CloudFormation` does not tell.
    pub async fn resource_id(&self, name: &str) -> Result<String, String> {
        let request = self.client.describe_stack_resource().stack_name(&self.name);
        let answer = request.logical_resource_id(name).send().await;
        let answer = answer.map_err(|error| crate::failure_reason(&error))?;
        let resource = answer.stack_resource_detail();
        let id = resource.and_then(|resource| resource.physical_resource_id());
        id.map(str::to_owned)
            .ok_or_else(|| format!("the stack has no resource {name}"))
    }
}

fn named_values<'a>(
    pairs: impl Iterator<Item = (Option<&'a str>, Option<&'a str>)>,
) -> BTreeMap<String, String> {
    pairs
        .filter_map(|(name, value)| Some((name?.to_owned(), value?.to_owned())))
        .collect()
}

/// Verifies that there are credentials, before a call fails for a reason that is hard to read.
async fn require_credentials(aws: &SdkConfig) -> Result<(), StackError> {
    let Some(provider) = aws.credentials_provider() else {
        return Err(StackError::NoCredentials("there is no provider".to_owned()));
    };
    match provider.provide_credentials().await {
        Ok(_) => Ok(()),
        Err(error) => {
            // The SDK lists each provider in a line of its own.
            let reason = crate::error_chain(&error);
            let words: Vec<_> = reason.split_whitespace().collect();
            Err(StackError::NoCredentials(words.join(" ")))
        }
    }
}
