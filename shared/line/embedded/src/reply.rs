//! The answers of commands.

use redis::{ServerError, Value};

/// What a command answers, or the text with which it is refused, such as `ERR no such key`.
pub(crate) type Outcome = Result<Value, String>;

/// A text.
pub(crate) fn bulk(bytes: &[u8]) -> Value {
    Value::BulkString(bytes.to_vec())
}

/// A count.
pub(crate) fn integer(count: usize) -> Value {
    Value::Int(i64::try_from(count).expect("a count of what is in memory fits in 63 bits"))
}

/// A text, or nil.
pub(crate) fn optional(bytes: Option<&[u8]>) -> Value {
    bytes.map_or(Value::Nil, bulk)
}

/// The answer of a command that is refused.
pub(crate) fn refusal(text: &str) -> Value {
    Value::ServerError(parse_error(text))
}

/// An error as a client reads it from a connection: the first word is its code.
fn parse_error(text: &str) -> ServerError {
    let line = format!("-{}\r\n", text.replace(['\r', '\n'], " "));
    match redis::parse_redis_value(line.as_bytes()) {
        Ok(Value::ServerError(error)) => error,
        other => unreachable!("a line that begins with a dash is an error: {other:?}"),
    }
}

/// A score as Redis prints it: an integer without a point, and anything else in the fewest digits that give it back.
pub(crate) fn score_text(score: f64) -> Vec<u8> {
    const EXPONENT_FROM: f64 = 1e17;
    let text = if score.is_infinite() {
        if score > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else if score.abs() >= EXPONENT_FROM {
        format!("{score:e}").replacen('e', "e+", 1)
    } else {
        score.to_string()
    };
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_printed_as_redis_prints_them() {
        let cases = [
            (0.0, "0"),
            (-17.0, "-17"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (0.5, "0.5"),
            (1e17, "1e+17"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (score, text) in cases {
            assert_eq!(String::from_utf8(score_text(score)).as_deref(), Ok(text));
        }
    }
}
