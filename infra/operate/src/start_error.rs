//! The errors that end the process. Each is one line that says what to do if the user can act.

use std::io;

/// Why the console did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("no AWS region: set AWS_REGION, or a region in your AWS profile")]
    NoRegion,
    #[error(
        "no AWS credentials: set AWS_PROFILE and log in (aws sso login), or set AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY. The AWS SDK says: {0}"
    )]
    NoCredentials(String),
    #[error(
        "there is no stack {stack} in the region {region} of this account; set AWS_REGION, AWS_PROFILE or STACK to \
         where it is"
    )]
    NoStack { stack: String, region: String },
    #[error(
        "your AWS credentials may not read the stack {stack}: they need the right cloudformation:DescribeStacks. \
         AWS says: {reason}"
    )]
    StackForbidden { stack: String, reason: String },
    #[error("the process cannot read the stack {stack}: {reason}")]
    StackUnreadable { stack: String, reason: String },
    #[error(
        "the stack {0} has no output AdminFunction, so it is not a deployment of Vestibule, or its deployment has not \
         ended"
    )]
    NoAdminFunction(String),
    #[error(
        "your AWS credentials may not give commands: they need the right lambda:InvokeFunction for it. {0}"
    )]
    InvokeForbidden(String),
    #[error("the process cannot listen on port {0}: {1}; choose another port with PORT")]
    Port(u16, io::Error),
    #[error("the process cannot listen for signals: {0}")]
    Signals(io::Error),
    #[error("the HTTP server stopped early: {0}")]
    Serving(io::Error),
}
