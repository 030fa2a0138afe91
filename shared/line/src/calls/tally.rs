//! Hands out the tally of a queue: sends `read_tally.lua`, `take_tally.lua` and `acknowledge_tally.lua`.

use std::collections::BTreeMap;

use vestibule_domain::{
    change::Version,
    id::{QueueId, Salt},
    tally::{Histogram, PeakWaiting, QueueTotals, Tally, TallySnapshot},
};

use super::{Line, fields::Fields, keys::Keys, reply::ScriptReply, script::script};
use crate::LineError;

script!(READ_TALLY, "tick/read_tally");
script!(TAKE_TALLY, "tick/take_tally");
script!(ACKNOWLEDGE_TALLY, "tick/acknowledge_tally");

impl Line {
    /// The tally at this moment.
    pub async fn read_tally(&self, queue: &QueueId) -> Result<TallySnapshot, LineError> {
        let reply = self.begin_call(&READ_TALLY, queue).send(self).await?;
        match reply.outcome() {
            "tally" => read_snapshot(reply),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }

    /// Takes the tally for storing it, if it has changed since the stored one and no caller took it within `every_ms`.
    ///
    /// Any number of callers may ask at any moment. The taken one counts as stored only after
    /// [`acknowledge_tally`](Self::acknowledge_tally). So the tally of a caller that fails is taken again.
    pub async fn take_tally(
        &self,
        queue: &QueueId,
        every_ms: u64,
    ) -> Result<Option<TallySnapshot>, LineError> {
        let call = self.begin_call(&TAKE_TALLY, queue).arg(every_ms);
        let reply = call.send(self).await?;
        match reply.outcome() {
            "tally" => read_snapshot(reply).map(Some),
            "not-due" => Ok(None),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }

    /// Records that the backup has the tally of this version, or a later one. A version of another epoch has no effect.
    pub async fn acknowledge_tally(&self, queue: &QueueId, stored: Version) -> Result<(), LineError> {
        let call = ACKNOWLEDGE_TALLY.call_for_queue(&Keys::new(queue));
        let reply = call.arg(stored.epoch).arg(stored.v).send(self).await?;
        match reply.outcome() {
            "acknowledged" => Ok(()),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}

fn read_snapshot(mut reply: ScriptReply) -> Result<TallySnapshot, LineError> {
    let at_ms = reply.read_number()?;
    let (epoch, generation) = (reply.read_number()?, reply.read_number()?);
    let salt = Salt::from_text(&reply.read_text()?);
    let v = reply.read_number()?;
    let (totals, fields) = (reply.read_fields()?, reply.read_fields()?);
    let small = |number: u64| u32::try_from(number).map_err(|_| reply.protocol_error("a small number"));
    Ok(TallySnapshot {
        generation: small(generation)?,
        salt: salt.ok_or_else(|| reply.protocol_error("a salt"))?,
        version: Version {
            epoch: small(epoch)?,
            v,
        },
        at_ms,
        tally: Tally {
            totals: read_totals_before(&fields)?.plus(&read_totals(&totals)?),
            waits: read_histogram(&fields, "wait")?,
            stays: read_histogram(&fields, "stay")?,
            peak: PeakWaiting {
                waiting: fields.number_or_zero("peak_waiting")?,
                at_ms: fields.number_or_zero("peak_at_ms")?,
            },
        },
    })
}

/// Reads the totals of a line from the fields of its names.
pub(super) fn read_totals(fields: &Fields) -> Result<QueueTotals, LineError> {
    QueueTotals::try_from_fields(|name| fields.number_or_zero(name))
}

fn read_totals_before(fields: &Fields) -> Result<QueueTotals, LineError> {
    QueueTotals::try_from_fields(|name| fields.number_or_zero(&before(name)))
}

/// Reads a histogram of the durations of one kind, `wait` or `stay`.
fn read_histogram(fields: &Fields, kind: &str) -> Result<Histogram, LineError> {
    let prefix = format!("{kind}_");
    let mut buckets = BTreeMap::new();
    for name in fields.names() {
        if let Some(number) = name.strip_prefix(&prefix).and_then(|number| number.parse().ok()) {
            buckets.insert(number, fields.number(name)?);
        }
    }
    let (sum_ms, max_ms) = (
        fields.number_or_zero(&format!("{kind}s_sum_ms"))?,
        fields.number_or_zero(&format!("{kind}s_max_ms"))?,
    );
    Ok(Histogram::from_counts(buckets, sum_ms, max_ms))
}

fn histogram_fields(kind: &str, durations: &Histogram) -> impl Iterator<Item = (String, u64)> {
    let buckets = durations
        .counts()
        .map(move |(number, count)| (format!("{kind}_{number}"), count));
    buckets.chain([
        (format!("{kind}s_sum_ms"), durations.sum_ms()),
        (format!("{kind}s_max_ms"), durations.max_ms()),
    ])
}

/// The fields and values of the hash `tally` of a queue that goes on with this tally.
pub(super) fn tally_fields(stored: &Tally) -> Vec<(String, u64)> {
    let totals = stored.totals.fields().map(|(name, total)| (before(name), total));
    let peak = [
        ("peak_waiting".to_owned(), stored.peak.waiting),
        ("peak_at_ms".to_owned(), stored.peak.at_ms),
    ];
    let all = totals
        .into_iter()
        .chain(histogram_fields("wait", &stored.waits))
        .chain(histogram_fields("stay", &stored.stays))
        .chain(peak);
    all.filter(|(_, number)| *number > 0).collect()
}

fn before(total: &str) -> String {
    format!("before_{total}")
}
