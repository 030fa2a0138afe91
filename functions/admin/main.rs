//! The function `admin`: carries out the commands of operators, from the console or the command line.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;
use vestibule_runtime::start;

#[tokio::main]
async fn main() -> Result<(), Error> {
    vestibule_telemetry::init();
    let admin = start::admin().await?;
    run(service_fn(|order: LambdaEvent<Value>| {
        let admin = admin.clone();
        async move { Ok::<Value, Error>(admin.answer(order.payload).await) }
    }))
    .await
}
