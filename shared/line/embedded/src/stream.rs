//! A stream: records in the order of their ids.

use std::{collections::BTreeMap, fmt, ops::Bound, str::FromStr};

/// The id of a record: the server's time of its addition, and a number among those of the same millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct StreamId {
    pub(crate) ms: u64,
    pub(crate) number: u64,
}

impl StreamId {
    pub(crate) const MIN: Self = Self { ms: 0, number: 0 };
    pub(crate) const MAX: Self = Self {
        ms: u64::MAX,
        number: u64::MAX,
    };

    /// The id after this one: the time, or the next number if the clock is behind.
    pub(crate) fn next(self, now_ms: u64) -> Self {
        if now_ms > self.ms {
            Self {
                ms: now_ms,
                number: 0,
            }
        } else {
            Self {
                number: self.number + 1,
                ..self
            }
        }
    }

    /// Parses an id. One that is only a time gets this number.
    pub(crate) fn parse(text: &str, number: u64) -> Result<Self, String> {
        let (ms, own_number) = match text.split_once('-') {
            Some((ms, own_number)) => (ms, parse_part(own_number)?),
            None => (text, number),
        };
        Ok(Self {
            ms: parse_part(ms)?,
            number: own_number,
        })
    }
}

fn parse_part(text: &str) -> Result<u64, String> {
    u64::from_str(text).map_err(|_| "ERR Invalid stream ID specified as stream command argument".to_owned())
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.number)
    }
}

/// A stream that is empty stays, because its next id must be above the last one.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    last: StreamId,
    /// Names and values, one after the other.
    records: BTreeMap<StreamId, Vec<Vec<u8>>>,
}

impl Stream {
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// The highest id that was ever given.
    pub(crate) fn last(&self) -> StreamId {
        self.last
    }

    /// Whether no record was ever added.
    pub(crate) fn is_new(&self) -> bool {
        self.last == StreamId::MIN
    }

    /// All records.
    pub(crate) fn all(&self) -> impl Iterator<Item = (StreamId, &[Vec<u8>])> {
        self.records.iter().map(|(id, values)| (*id, values.as_slice()))
    }

    /// Adds a record under an id above the last one.
    pub(crate) fn add(&mut self, id: StreamId, values: Vec<Vec<u8>>) {
        self.last = id;
        self.records.insert(id, values);
    }

    pub(crate) fn remove(&mut self, id: StreamId) -> bool {
        self.records.remove(&id).is_some()
    }

    /// The records of a range. It may be empty, or its ends the wrong way round.
    pub(crate) fn range(
        &self,
        from: Bound<StreamId>,
        to: StreamId,
    ) -> impl Iterator<Item = (StreamId, &[Vec<u8>])> {
        let records = self.records.range((from, Bound::Unbounded));
        records
            .take_while(move |(id, _)| **id <= to)
            .map(|(id, values)| (*id, values.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_while_the_clock_goes_back() {
        let mut last = StreamId::MIN;
        let ids = [5, 5, 3, 6].map(|now_ms| {
            last = last.next(now_ms);
            last.to_string()
        });
        assert_eq!(ids, ["5-0", "5-1", "5-2", "6-0"]);
    }

    #[test]
    fn ranges_include_their_ends_unless_excluded() {
        let id = |ms| StreamId { ms, number: 0 };
        let mut stream = Stream::default();
        for ms in 1..=4 {
            stream.add(id(ms), Vec::new());
        }
        let found = |from, to| stream.range(from, to).map(|(id, _)| id.ms).collect::<Vec<_>>();
        assert_eq!(found(Bound::Included(id(2)), id(3)), [2, 3]);
        assert_eq!(found(Bound::Excluded(id(2)), StreamId::MAX), [3, 4]);
        assert_eq!(found(Bound::Excluded(id(4)), id(2)), [0; 0], "an empty range");
    }
}
