//! The library `cjson` of Redis.

use mlua::{Error, Lua, LuaString, Result, Table, Value};
use serde_json::Value as Json;

/// `cjson.encode(value)`. It writes a slash with a backslash before it.
pub(crate) fn encode(lua: &Lua, value: Value) -> Result<String> {
    Ok(to_json(lua, value)?.to_string().replace('/', "\\/"))
}

/// `cjson.decode(text)`.
#[allow(clippy::needless_pass_by_value)] // A function of Lua gets its arguments by value.
pub(crate) fn decode(lua: &Lua, text: LuaString) -> Result<Value> {
    let json = serde_json::from_slice(&text.as_bytes());
    from_json(
        lua,
        json.map_err(|error| Error::runtime(format!("ERR cjson.decode: {error}")))?,
    )
}

fn to_json(lua: &Lua, value: Value) -> Result<Json> {
    Ok(match value {
        Value::Boolean(is_true) => Json::Bool(is_true),
        Value::String(text) => Json::String(text.to_str()?.to_owned()),
        // With the 14 digits of Lua's own texts, as Redis has it.
        number @ (Value::Integer(_) | Value::Number(_)) => {
            let text = lua
                .coerce_string(number)?
                .ok_or_else(|| Error::runtime("ERR not a number"))?;
            let number = serde_json::from_str(&text.to_str()?);
            number.map_err(|_| Error::runtime("ERR Cannot serialise number: must not be NaN or Inf"))?
        }
        Value::Table(table) => table_to_json(lua, &table)?,
        Value::LightUserData(null) if null.0.is_null() => Json::Null,
        other => {
            let name = other.type_name();
            return Err(Error::runtime(format!(
                "ERR Cannot serialise {name}: type not supported"
            )));
        }
    })
}

/// A table whose keys are positions is an array, and any other an object. An empty one is an object.
fn table_to_json(lua: &Lua, table: &Table) -> Result<Json> {
    let len = table.raw_len();
    if len == 0 || table.pairs::<Value, Value>().count() != len {
        let fields = table.pairs::<String, Value>().map(|field| {
            let (name, value) = field?;
            Ok((name, to_json(lua, value)?))
        });
        return Ok(Json::Object(fields.collect::<Result<_>>()?));
    }
    let values = table.sequence_values::<Value>().map(|value| to_json(lua, value?));
    Ok(Json::Array(values.collect::<Result<_>>()?))
}

fn from_json(lua: &Lua, json: Json) -> Result<Value> {
    Ok(match json {
        Json::Null => Value::NULL,
        Json::Bool(is_true) => Value::Boolean(is_true),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Value::String(lua.create_string(text)?),
        Json::Array(values) => {
            let table = lua.create_table_with_capacity(values.len(), 0)?;
            for value in values {
                table.raw_push(from_json(lua, value)?)?;
            }
            Value::Table(table)
        }
        Json::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, value) in fields {
                table.raw_set(name, from_json(lua, value)?)?;
            }
            Value::Table(table)
        }
    })
}
