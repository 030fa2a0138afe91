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
        let fields = [
            ("healthy", Some(report.healthy.into())),
            ("tps", report.tps),
            ("latency_ms", report.latency_ms),
        ];
        let fields = fields
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_owned(), value?.to_string()]))
            .flatten();
        let call = self.begin_call(&RECORD_LOAD, queue).args(fields);
        call.send(self).await.map(|_| ())
    }
}

/// Reads the last load report, if there is one.
pub(super) fn read_last_load(load: &Fields) -> Result<Option<LastLoadReport>, LineError> {
    if !load.has("at_ms") {
        return Ok(None);
    }
    let measured = |name| load.has(name).then(|| load.number(name)).transpose();
    Ok(Some(LastLoadReport {
        report: LoadReport {
            tps: measured("tps")?,
            latency_ms: measured("latency_ms")?,
            healthy: load.number::<u8>("healthy")? == 1,
        },
        at_ms: load.number("at_ms")?,
    }))
}
