//! The library `struct` of Redis: numbers and texts as bytes.

use mlua::{Error, Lua, LuaString, MultiValue, Result, Value, Variadic};

/// The parts of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// `d`: a number of 8 bytes.
    Double,
    /// `B`: an integer of one byte.
    Byte,
    /// `I8`: an integer of 8 bytes.
    Integer,
    /// `s`: a text that ends with a zero byte.
    Text,
}

/// Reads a format, which begins with `<`: the first byte of a number is the lowest.
fn parse_format(format: &str) -> Result<Vec<Part>> {
    let refused = || Error::runtime(format!("ERR the format '{format}' of struct is not known here"));
    let mut rest = format.strip_prefix('<').ok_or_else(refused)?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let known = [
            ("d", Part::Double),
            ("B", Part::Byte),
            ("I8", Part::Integer),
            ("s", Part::Text),
        ];
        let found = known
            .iter()
            .find_map(|(name, part)| Some((*part, rest.strip_prefix(name)?)));
        let (part, behind) = found.ok_or_else(refused)?;
        parts.push(part);
        rest = behind;
    }
    Ok(parts)
}

/// `struct.pack(format, value, …)`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // As in C.
pub(crate) fn pack(lua: &Lua, (format, values): (String, Variadic<Value>)) -> Result<LuaString> {
    let mut bytes = Vec::new();
    let mut values = values.into_iter();
    for part in parse_format(&format)? {
        let value = values
            .next()
            .ok_or_else(|| Error::runtime("ERR struct.pack has too few values"))?;
        if part == Part::Text {
            let text = lua.coerce_string(value)?;
            let text = text.ok_or_else(|| Error::runtime("ERR struct.pack expected a text"))?;
            bytes.extend_from_slice(&text.as_bytes());
            bytes.push(0);
            continue;
        }
        let number = lua.coerce_number(value)?;
        let number = number.ok_or_else(|| Error::runtime("ERR struct.pack expected a number"))?;
        match part {
            Part::Byte => bytes.push(number as i64 as u8),
            Part::Integer => bytes.extend_from_slice(&(number as i64).to_le_bytes()),
            Part::Double | Part::Text => bytes.extend_from_slice(&number.to_le_bytes()),
        }
    }
    lua.create_string(bytes)
}

/// `struct.unpack(format, bytes, first)`: the values, and the position behind them.
#[allow(clippy::cast_precision_loss)] // A number of Lua is a double.
pub(crate) fn unpack(
    lua: &Lua,
    (format, bytes, first): (String, LuaString, Option<usize>),
) -> Result<MultiValue> {
    let too_short = || Error::runtime("ERR struct.unpack has too few bytes");
    let bytes = bytes.as_bytes();
    let whole: &[u8] = &bytes;
    let mut rest = whole
        .get(first.unwrap_or(1).saturating_sub(1)..)
        .ok_or_else(too_short)?;
    let mut values = Vec::new();
    for part in parse_format(&format)? {
        let value = match part {
            Part::Byte => Value::Number(take::<1>(&mut rest).ok_or_else(too_short)?[0].into()),
            Part::Double => Value::Number(f64::from_le_bytes(take(&mut rest).ok_or_else(too_short)?)),
            Part::Integer => Value::Number(u64::from_le_bytes(take(&mut rest).ok_or_else(too_short)?) as f64),
            Part::Text => {
                let end = rest.iter().position(|byte| *byte == 0).ok_or_else(too_short)?;
                let text = lua.create_string(&rest[..end])?;
                rest = &rest[end + 1..];
                Value::String(text)
            }
        };
        values.push(value);
    }
    values.push(Value::Number((whole.len() - rest.len() + 1) as f64));
    Ok(MultiValue::from_vec(values))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*bytes)
}
