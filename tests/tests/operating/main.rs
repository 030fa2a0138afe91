//! What an operator does and sees, with Redis and DynamoDB: edits in the AWS console, commands, and metrics.

mod brake;
mod check;
mod concurrent_edits;
mod console;
mod deletion;
mod deletion_by_hand;
mod deletion_on_request;
mod deployment;
mod metrics;
