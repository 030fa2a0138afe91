//! Puts changes that the backup refused back into the journal, to be tried again later: sends
//! `requeue_with_backoff.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{Deferral, LineError};

use super::{
    RedisLine,
    journal::{fields, tick_fields},
    script::Command,
};

pub(super) static DEFER: LazyLock<Command> =
    LazyLock::new(|| Command::new("defer", include_str!("defer.lua")));

pub(super) async fn defer(line: &RedisLine, queue: &QueueId, deferral: &Deferral) -> Result<(), LineError> {
    let rest = match deferral.rest.as_slice() {
        [] => Vec::new(),
        [one] => fields(one),
        many => tick_fields(many),
    };
    let call = line
        .call(&DEFER, queue)
        .arg(&deferral.key)
        .arg(deferral.tries)
        .arg(deferral.wait_ms)
        .arg(rest.len())
        .args(rest)
        .args(deferral.refused.iter().flat_map(fields));
    call.send(line).await.map(drop)
}
