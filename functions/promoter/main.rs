//! The function `promoter`: ticks every queue once a second. One schedule event starts a run, which ends just
//! before the function's deadline, or earlier when every queue has been empty for a while.

use std::{process::ExitCode, sync::Arc};

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;
use vestibule_api::deadline::invocation_deadline;
use vestibule_promoter::{Promoter, before_deadline};
use vestibule_runtime::event_bridge::{EventBridge, EventBridgeConfig};
use vestibule_runtime::start::{self, StartError, run_function};

#[tokio::main]
async fn main() -> ExitCode {
    run_function(start_promoter(), serve).await
}

async fn start_promoter() -> Result<Arc<Promoter>, StartError> {
    let events = EventBridgeConfig::from_env();
    let endpoints: Vec<_> = events
        .iter()
        .map(|events| events.endpoint_url.as_deref())
        .collect();
    let servers = start::connect_promoter(&endpoints).await?;
    let mut promoter = Promoter::new(servers.line, Arc::new(servers.backup), servers.policy);
    if let Some(events) = events {
        promoter = promoter.with_event_bus(Arc::new(EventBridge::new(&servers.aws, events)));
    }
    Ok(Arc::new(promoter))
}

async fn serve(promoter: Arc<Promoter>) -> Result<(), Error> {
    run(service_fn(|schedule: LambdaEvent<Value>| {
        let promoter = promoter.clone();
        async move {
            promoter
                .run_while_needed(before_deadline(invocation_deadline(&schedule.context)))
                .await;
            Ok::<(), Error>(())
        }
    }))
    .await
}
