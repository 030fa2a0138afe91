//! Parses the messages that `promote.lua` publishes.

use vestibule_domain::{change::Version, score::WaitScore};

use super::fields::parse_integer;
use crate::Tick;

/// Parses a message: `through epoch v at_ms claim_by_ms`. `through` is the highest score that the
/// tick promoted. The rest is the version and time of the change, and the time by which the
/// visitors must claim. `None` if the message has another form.
pub(crate) fn parse_tick(message: &[u8]) -> Option<Tick> {
    let numbers: Option<Vec<u64>> = str::from_utf8(message)
        .ok()?
        .split(' ')
        .map(parse_integer)
        .collect();
    let [through, epoch, v, at_ms, claim_by_ms] = numbers?.try_into().ok()?;
    Some(Tick {
        through: WaitScore::from_raw(through)?,
        version: Version {
            epoch: u32::try_from(epoch).ok()?,
            v,
        },
        at_ms,
        claim_by_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_message_yields_no_tick() {
        let tick = parse_tick(b"9007199254740991 2 1795260581079001 1795260581079 1795260641079")
            .expect("a message of five numbers is a tick");
        assert_eq!(
            tick.through,
            WaitScore::from_raw(9_007_199_254_740_991).expect("2^53 - 1 is a score")
        );
        assert_eq!((tick.version.epoch, tick.version.v), (2, 1_795_260_581_079_001));
        assert_eq!(
            (tick.at_ms, tick.claim_by_ms),
            (1_795_260_581_079, 1_795_260_641_079)
        );
        for other in [
            "",
            "1",
            "1 2 3 4",
            "1 2 3 4 5 6",
            "1 2 3 4 x",
            "9007199254740992 2 3 4 5",
        ] {
            assert_eq!(parse_tick(other.as_bytes()), None, "{other}");
        }
    }
}
