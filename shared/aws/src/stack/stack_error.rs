//! Why a stack cannot be used. Each message is one line that says what to do if the person can act.

/// Why a stack cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// Neither the environment nor the profile names a region.
    #[error("no AWS region: set AWS_REGION, or a region in your AWS profile")]
    NoRegion,
    /// The person is not logged in.
    #[error(
        "no AWS credentials: set AWS_PROFILE and log in (aws sso login), or set AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY. The AWS SDK says: {0}"
    )]
    NoCredentials(String),
    /// The account has no such stack in the region.
    #[error(
        "there is no stack {stack} in the region {region} of this account; set AWS_REGION, AWS_PROFILE or STACK to \
         where it is"
    )]
    NoStack {
        /// The name that was asked for.
        stack: String,
        /// Where it was looked for.
        region: String,
    },
    /// The person may not read the stack.
    #[error(
        "your AWS credentials may not read the stack {stack}: they need the right cloudformation:DescribeStacks. \
         AWS says: {reason}"
    )]
    StackForbidden {
        /// The name of the stack.
        stack: String,
        /// The answer of `CloudFormation`.
        reason: String,
    },
    /// `CloudFormation` does not answer, or with another error.
    #[error("the process cannot read the stack {stack}: {reason}")]
    StackUnreadable {
        /// The name of the stack.
        stack: String,
        /// What went wrong.
        reason: String,
    },
    /// The stack is none of Vestibule.
    #[error(
        "the stack {0} has no output AdminFunction, so it is not a deployment of Vestibule, or its deployment has not \
         ended"
    )]
    NoAdminFunction(String),
    /// The person may not invoke the admin function.
    #[error(
        "your AWS credentials may not give commands: they need the right lambda:InvokeFunction for it. {0}"
    )]
    InvokeForbidden(String),
}
