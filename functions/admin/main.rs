//! The function `admin`: carries out the commands of operators, from the console or the command line.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;
use vestibule_runtime::start;

#[tokio::main]
async fn main() -> Result<(), Error> {
    vestibule_telemetry::init_logging();
    let admin = start::prepare_admin().await?;
    run(service_fn(|order: LambdaEvent<Value>| {
        let admin = admin.clone();
        async move {
            let invocation = start::describe_invocation(&order.context);
            Ok::<Value, Error>(admin.handle_as(order.payload, &invocation).await)
        }
    }))
    .await
}
