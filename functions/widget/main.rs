//! The function `widget`: shows the queues in a CloudWatch dashboard, and takes three orders there.

use std::process::ExitCode;

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;
use vestibule_runtime::start::run_function;
use vestibule_widget::Widget;

#[tokio::main]
async fn main() -> ExitCode {
    run_function(Widget::from_env(), serve).await
}

async fn serve(widget: Widget) -> Result<(), Error> {
    run(service_fn(|call: LambdaEvent<Value>| {
        let widget = widget.clone();
        async move {
            let answer = widget
                .handle(&call.payload, &call.context.invoked_function_arn)
                .await;
            Ok::<Value, Error>(answer)
        }
    }))
    .await
}
