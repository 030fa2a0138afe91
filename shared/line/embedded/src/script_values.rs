//! How Redis translates between the values of a script and the answers of commands.

use mlua::{Lua, Result, Table, Value};
use redis::Value as Answer;

use super::reply::refusal;

/// The argument of a command. Only texts and numbers can be one.
pub(crate) fn to_word(lua: &Lua, value: Value) -> Result<Vec<u8>> {
    const WHOLE_MAX: f64 = 1e17;
    match value {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Integer(number) => Ok(number.to_string().into_bytes()),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < WHOLE_MAX => {
            Ok(format!("{number:.0}").into_bytes())
        }
        // The digits of C's `%.17g`, which are enough to give the number back.
        Value::Number(number) => {
            let format: mlua::Function = lua.named_registry_value(NUMBER_FORMAT)?;
            format
                .call::<mlua::LuaString>(("%.17g", number))
                .map(|text| text.as_bytes().to_vec())
        }
        _ => Err(mlua::Error::runtime(
            "ERR Lua redis lib command arguments must be strings or integers",
        )),
    }
}

/// The name in Lua's registry of its function `string.format`, which a script cannot replace.
pub(crate) const NUMBER_FORMAT: &str = "vestibule.number_format";

/// What `redis.call` returns: nil becomes `false`, and a status or an error a table.
pub(crate) fn from_answer(lua: &Lua, answer: Answer) -> Result<Value> {
    Ok(match answer {
        Answer::Nil => Value::Boolean(false),
        #[allow(clippy::cast_precision_loss)] // A number of Lua is a double.
        Answer::Int(number) => Value::Number(number as f64),
        Answer::BulkString(text) => Value::String(lua.create_string(text)?),
        Answer::Array(answers) => {
            let table = lua.create_table_with_capacity(answers.len(), 0)?;
            for (at, answer) in answers.into_iter().enumerate() {
                table.raw_set(at + 1, from_answer(lua, answer)?)?;
            }
            Value::Table(table)
        }
        Answer::Okay => status(lua, "ok", "OK")?,
        Answer::SimpleString(text) => status(lua, "ok", &text)?,
        other => unreachable!("no command answers {other:?}"),
    })
}

/// A table with one field, as which a script sees a status (`ok`) and an error (`err`).
pub(crate) fn status(lua: &Lua, name: &str, text: &str) -> Result<Value> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set(name, text)?;
    Ok(Value::Table(table))
}

/// What the caller of a script receives: a number is cut to an integer, and a list ends before its first nil.
pub(crate) fn to_answer(value: &Value) -> Result<Answer> {
    Ok(match value {
        Value::Boolean(true) => Answer::Int(1),
        Value::Integer(number) => Answer::Int(*number),
        #[allow(clippy::cast_possible_truncation)] // As in C.
        Value::Number(number) => Answer::Int(*number as i64),
        Value::String(text) => Answer::BulkString(text.as_bytes().to_vec()),
        Value::Table(table) => table_to_answer(table)?,
        _ => Answer::Nil,
    })
}

fn table_to_answer(table: &Table) -> Result<Answer> {
    if let Some(text) = table.raw_get::<Option<String>>("err")? {
        return Ok(refusal(&text));
    }
    if let Some(text) = table.raw_get::<Option<String>>("ok")? {
        return Ok(if text == "OK" {
            Answer::Okay
        } else {
            Answer::SimpleString(text)
        });
    }
    let mut answers = Vec::with_capacity(table.raw_len());
    for at in 1.. {
        match table.raw_get(at)? {
            Value::Nil => break,
            value => answers.push(to_answer(&value)?),
        }
    }
    Ok(Answer::Array(answers))
}
