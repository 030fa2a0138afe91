//! Keeps the last load report of the protected service: sends `record_load.lua`, and reads what
//! that script stores.

use vestibule_domain::{
    id::QueueId,
    load::{LastLoadReport, LoadReport},
};

use super::{Line, fields::Fields, script::script};
use crate::LineError;

script!(RECORD_LOAD, "tick/record_load");

impl Line {
    /// Stores the load report of the protected service and replaces the one before. With `adaptive`, the pace
    /// follows it for `load_ttl_seconds`.
    pub async fn record_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        let mut fields = vec![("tps", report.tps), ("healthy", report.healthy.into())];
        fields.extend(report.latency_ms.map(|latency_ms| ("latency_ms", latency_ms)));
        let fields = fields
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value.to_string()]);
        let call = self.begin_call(&RECORD_LOAD, queue).args(fields);
        call.send(self).await.map(|_| ())
    }
}

/// Reads the last load report, if there is one.
pub(super) fn read_last_load(load: &Fields) -> Result<Option<LastLoadReport>, LineError> {
    if !load.has("at_ms") {
        return Ok(None);
    }
    Ok(Some(LastLoadReport {
        report: LoadReport {
            tps: load.number("tps")?,
            latency_ms: load
                .has("latency_ms")
                .then(|| load.number("latency_ms"))
                .transpose()?,
            healthy: load.number::<u8>("healthy")? == 1,
        },
        at_ms: load.number("at_ms")?,
    }))
}
