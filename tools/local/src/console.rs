//! The console of operators over the admin function of this process.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use vestibule_admin::Admin;
use vestibule_console::{
    AdminCaller, AdminUnreachable, Console, Deployment, DeploymentKind, RoundTrips, operator_name,
};

use crate::ping::measure_ping;

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
        let (line_ms, backup_ms) = tokio::join!(
            measure_ping(self.0.line.ping()),
            measure_ping(self.0.backup.ping())
        );
        RoundTrips { line_ms, backup_ms }
    }
}
