//! Whole numbers in JSON.

use serde_json::Value;

/// The greatest whole number that every JSON parser reads exactly (RFC 8259, section 6).
const EXACT_MAX: f64 = 9_007_199_254_740_991.0;

/// The whole number that a value is, also if it is written as `10.0`. JSON knows one kind of number, and some programs write
/// each one with a fraction. `None` for anything else, and for a number below 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The range is checked.
pub fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        let is_whole = number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&number);
        is_whole.then_some(number as u64)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fraction_of_zero_changes_no_number() {
        for (value, number) in [
            (json!(10), Some(10)),
            (json!(10.0), Some(10)),
            (json!(1e3), Some(1_000)),
            (json!(u64::MAX), Some(u64::MAX)),
            (json!(0.0), Some(0)),
            (json!(10.5), None),
            (json!(-1), None),
            (json!(-1.0), None),
            (json!(1e300), None),
            (json!("10"), None),
            (json!(null), None),
        ] {
            assert_eq!(whole_number(&value), number, "{value}");
        }
    }
}
