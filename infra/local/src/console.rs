//! The console of operators over the admin function of this process.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde_json::Value;
use tokio::time::timeout;
use vestibule_console::{
    AdminCaller, AdminUnreachable, Console, Deployment, DeploymentKind, RoundTrips, operator_name,
};
use vestibule_operate::admin::Admin;

/// A line or backup that does not answer within this time counts as unavailable.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// Creates the console of this process.
pub(crate) fn open(admin: Arc<Admin>) -> Arc<Console> {
    let deployment = Deployment {
        kind: DeploymentKind::Local,
        name: "local".to_owned(),
        region: None,
        page_url: Some("/".to_owned()),
    };
    Console::new(Arc::new(LocalAdmin(admin)), deployment, operator_name())
}

/// The admin function of this process.
struct LocalAdmin(Arc<Admin>);

#[async_trait]
impl AdminCaller for LocalAdmin {
    async fn call(&self, command: Value) -> Result<Value, AdminUnreachable> {
        Ok(self.0.handle(command).await)
    }

    async fn measure_round_trips(&self) -> RoundTrips {
        let (line_ms, backup_ms) = tokio::join!(measure(self.0.line.ping()), measure(self.0.backup.ping()));
        RoundTrips { line_ms, backup_ms }
    }
}

/// How long a call takes that succeeds in time, in milliseconds, to a hundredth.
async fn measure<T, E>(call: impl Future<Output = Result<T, E>>) -> Option<f64> {
    let started_at = Instant::now();
    let succeeded = matches!(timeout(PING_TIMEOUT, call).await, Ok(Ok(_)));
    let elapsed_ms = started_at.elapsed().as_secs_f64() * 1_000.0;
    succeeded.then(|| (elapsed_ms * 100.0).round() / 100.0)
}
