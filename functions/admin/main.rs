//! The function `admin`: carries out the commands of operators, from the console or the command line.

use std::process::ExitCode;

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;
use vestibule_admin::Admin;
use vestibule_runtime::start::{self, run_function};

#[tokio::main]
async fn main() -> ExitCode {
    run_function(start::prepare_admin(), serve).await
}

async fn serve(admin: Admin) -> Result<(), Error> {
    run(service_fn(|order: LambdaEvent<Value>| {
        let admin = admin.clone();
        async move {
            let invocation = start::describe_invocation(&order.context);
            Ok::<Value, Error>(admin.handle_as(order.payload, &invocation).await)
        }
    }))
    .await
}
