//! Keeps the last load report of the protected service: sends `record_load.lua`, and reads what that script
//! stores.

use std::sync::LazyLock;

use vestibule_domain::{
    id::QueueId,
    load::{LOAD_TTL_SECONDS, LastLoad, LoadReport},
};
use vestibule_line::LineError;

use super::{RedisLine, reply::Fields, script::Command};

pub(super) static LOAD: LazyLock<Command> = LazyLock::new(|| Command::new("load", include_str!("load.lua")));

pub(super) async fn keep(line: &RedisLine, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
    let mut fields = vec![("tps", report.tps), ("healthy", report.healthy.into())];
    fields.extend(report.latency_ms.map(|latency_ms| ("latency_ms", latency_ms)));
    let fields = fields
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value.to_string()]);
    let call = line.call(&LOAD, queue).arg(LOAD_TTL_SECONDS * 1_000).args(fields);
    call.send(line).await.map(|_| ())
}

/// Reads the last load report, if there is one.
pub(super) fn last(load: &Fields) -> Result<Option<LastLoad>, LineError> {
    if !load.has("at_ms") {
        return Ok(None);
    }
    Ok(Some(LastLoad {
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
