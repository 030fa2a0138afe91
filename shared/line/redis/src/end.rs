//! Reads an end that the backup may not have yet. The scripts write it into the hash `ended`, in the form
//! `epoch v visit how at_ms`.

use vestibule_domain::{
    change::{Change, End, Event, Version},
    id::{EntryId, QueueId},
    score::Visit,
};
use vestibule_line::LineError;

use super::{
    RedisLine,
    connect::{Sender, failed},
    keys::Keys,
};

/// Parses the [name](End::name) of an end.
pub(super) fn named(name: &str) -> Option<End> {
    match name {
        "completed" => Some(End::Completed),
        "left" => Some(End::Left),
        "no-show" => Some(End::NoShow),
        "expired" => Some(End::Expired),
        _ => None,
    }
}

pub(super) async fn end(line: &RedisLine, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError> {
    let keys = Keys::new(queue);
    let mut asked = redis::pipe();
    asked
        .hget(keys.key("ended"), id.to_member())
        .exists(keys.key("config"));
    let ask = async |mut link: Sender| asked.query_async(&mut link).await.map_err(failed);
    let (end, known): (Option<String>, bool) = line.connection.call(ask).await?;
    if !known {
        return Err(LineError::Unknown);
    }
    end.map(|text| parse(id, &text)).transpose()
}

/// Parses one value of the hash `ended`.
pub(super) fn parse(id: EntryId, text: &str) -> Result<Change, LineError> {
    words(id, text).ok_or_else(|| LineError::Nonsense(format!("cannot read the end of entry {id}: {text}")))
}

fn words(id: EntryId, text: &str) -> Option<Change> {
    let mut words = text.split(' ');
    let version = Version {
        epoch: words.next()?.parse().ok()?,
        v: words.next()?.parse().ok()?,
    };
    let visit = Visit::new(words.next()?.parse().ok()?)?;
    let how = named(words.next()?)?;
    let at_ms = words.next()?.parse().ok()?;
    Some(Change {
        id,
        version,
        at_ms,
        event: Event::Ended { visit, how },
    })
}
