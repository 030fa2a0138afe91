//! What an operator does and sees, against Redis and DynamoDB: edits in the console, and metrics.

mod check;
mod console;
mod deployment;
mod metrics;
