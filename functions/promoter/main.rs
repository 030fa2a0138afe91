//! The function `promoter`: ticks every queue once a second. One schedule event starts a run, which ends just
//! before the function's deadline, or earlier when every queue has been empty for a while.

use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;
use vestibule::{
    config::EdgeConfig,
    deadline::deadline,
    promoter::{Promoter, almost},
    start, telemetry,
};

#[tokio::main]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let policy = (&EdgeConfig::from_env()?).into();
    let (line, backup) = start::line_and_backup().await?;
    let promoter = Arc::new(Promoter::new(Arc::new(line), Arc::new(backup), policy));
    run(service_fn(|schedule: LambdaEvent<Value>| {
        let promoter = promoter.clone();
        async move {
            promoter
                .run_while_needed(almost(deadline(&schedule.context)))
                .await;
            Ok::<(), Error>(())
        }
    }))
    .await
}
