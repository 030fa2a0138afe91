//! A function that does nothing, by which the benchmarks `requests` and `cold` measure what Lambda's runtime costs alone.

use std::convert::Infallible;

use lambda_runtime::{Error, LambdaEvent, run_concurrent, service_fn};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    vestibule_telemetry::init_logging();
    let answer = |_: LambdaEvent<Value>| async { Ok::<_, Infallible>(json!({ "statusCode": 204 })) };
    run_concurrent(service_fn(answer)).await
}
