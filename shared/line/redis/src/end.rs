//! Reads an end that the backup may not have yet. The scripts write it into the hash `ended`, in
//! the form `epoch v visit how at_ms`.

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    id::{EntryId, QueueId},
    score::Visit,
};
use vestibule_line::LineError;

use super::{
    RedisLine,
    connect::{CallLink, to_line_error},
    keys::Keys,
};

/// Parses the [name](EndReason::name) of an end.
pub(super) fn parse_end_kind(name: &str) -> Option<EndReason> {
    match name {
        "completed" => Some(EndReason::Completed),
        "left" => Some(EndReason::Left),
        "no-show" => Some(EndReason::NoShow),
        "expired" => Some(EndReason::Expired),
        _ => None,
    }
}

pub(super) async fn unsettled_end(
    line: &RedisLine,
    queue: &QueueId,
    id: EntryId,
) -> Result<Option<Change>, LineError> {
    let keys = Keys::new(queue);
    let mut pipeline = redis::pipe();
    pipeline
        .hget(keys.key("ended"), id.to_member())
        .exists(keys.key("config"));
    let send = async |mut link: CallLink| pipeline.query_async(&mut link).await.map_err(to_line_error);
    let (end, queue_exists): (Option<String>, bool) = line.connection.call(send).await?;
    if !queue_exists {
        return Err(LineError::QueueNotFound);
    }
    end.map(|text| parse_end(id, &text)).transpose()
}

/// Parses one value of the hash `ended`.
pub(super) fn parse_end(id: EntryId, text: &str) -> Result<Change, LineError> {
    parse_end_fields(id, text)
        .ok_or_else(|| LineError::Protocol(format!("cannot read the end of entry {id}: {text}")))
}

fn parse_end_fields(id: EntryId, text: &str) -> Option<Change> {
    let mut words = text.split(' ');
    let version = Version {
        epoch: words.next()?.parse().ok()?,
        v: words.next()?.parse().ok()?,
    };
    let visit = Visit::new(words.next()?.parse().ok()?)?;
    let how = parse_end_kind(words.next()?)?;
    let at_ms = words.next()?.parse().ok()?;
    Some(Change {
        id,
        version,
        at_ms,
        event: Event::Ended { visit, how },
    })
}
