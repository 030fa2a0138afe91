//! Times as text, for operators: RFC 3339, which is ISO 8601 with a time zone.

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Why a text is no moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IsoTimeError {
    /// The text is a time of a clock on the wall, whose zone is not known.
    #[error("lacks its offset from UTC: end it with one, such as +09:00, or with Z for UTC")]
    NoOffset,
    /// The text is anything else.
    #[error("must be a time with its offset from UTC, such as \"2026-12-24T20:00:00+09:00\", or null")]
    NoTime,
}

/// A time in Unix milliseconds in UTC, such as `2026-11-30T20:00:00Z`. A time that a calendar of four digits does
/// not have is the number itself.
pub fn to_iso(at_ms: u64) -> String {
    let at_seconds = i64::try_from(at_ms / 1_000).ok();
    let at = at_seconds.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    let text = at.and_then(|at| at.format(&Rfc3339).ok());
    text.unwrap_or_else(|| at_ms.to_string())
}

/// Reads a time with its offset. Returns Unix milliseconds.
///
/// # Errors
/// [`IsoTimeError`] says what the text lacks.
pub fn parse_iso(text: &str) -> Result<u64, IsoTimeError> {
    let text = text.trim();
    let parse = |text: &str| OffsetDateTime::parse(text, &Rfc3339);
    let at = parse(text).map_err(|_| match parse(&format!("{text}Z")) {
        Ok(_) => IsoTimeError::NoOffset,
        Err(_) => IsoTimeError::NoTime,
    })?;
    u64::try_from(at.unix_timestamp_nanos() / 1_000_000).map_err(|_| IsoTimeError::NoTime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_needs_its_offset() {
        const EIGHT_IN_SEOUL_MS: u64 = 1_798_110_000_000;
        for text in [
            "2026-12-24T20:00:00+09:00",
            "2026-12-24T11:00:00Z",
            " 2026-12-24T11:00:00.000+00:00 ",
        ] {
            assert_eq!(parse_iso(text), Ok(EIGHT_IN_SEOUL_MS), "{text}");
        }
        assert_eq!(to_iso(EIGHT_IN_SEOUL_MS), "2026-12-24T11:00:00Z");
        assert_eq!(parse_iso("2026-12-24T20:00:00.250-01:30"), Ok(1_798_147_800_250));
        for text in ["2026-12-24T20:00:00", "2026-12-24T20:00:00.5"] {
            assert_eq!(parse_iso(text), Err(IsoTimeError::NoOffset), "{text}");
        }
        for text in [
            "",
            "tomorrow",
            "2026-12-24",
            "20:00",
            "2026-13-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "1798110000000",
        ] {
            assert_eq!(parse_iso(text), Err(IsoTimeError::NoTime), "{text}");
        }
    }
}
