//! Runs scripts: Lua 5.1 with the functions that Redis gives them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mlua::{
    Error, Function, Lua, LuaOptions, Result, StdLib, Table, Value, Variadic,
    state::{GcIncParams, GcMode},
};
use redis::Value as Answer;

use super::{
    commands::{Command, Effect, is_known},
    json,
    reply::refusal,
    script_values::{NUMBER_FORMAT, from_answer, status, to_answer, to_word},
    store::Store,
    struct_format,
};

/// The version of Redis whose behaviour the server has.
const VERSION: &str = "7.4.0";
const KEYS: &str = "KEYS";
const ARGV: &str = "ARGV";
/// Lua collects garbage when it has so many percent of the memory that the last collection left, and then all of it at once.
/// A script leaves a lot, and more of it does not fit into the processor's cache: with Lua's defaults of 200, in small steps, a
/// simulated crowd takes a fifth more time.
const GARBAGE_PERCENT: i32 = 120;
const STEP_PERCENT: i32 = 1_000_000;

/// What the first line of a script allows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Flags {
    /// It also runs while the server is full.
    allow_oom: bool,
    /// It may not change the store.
    no_writes: bool,
}

/// What the running script may do.
#[derive(Debug, Default)]
pub(crate) struct Running {
    pub(crate) store: Store,
    flags: Flags,
}

pub(crate) struct Interpreter {
    lua: Lua,
    running: Arc<Mutex<Running>>,
    /// What a script can read of its globals.
    globals: Table,
    /// The environment of a script: it reads `globals`, and cannot be changed.
    environment: Table,
    /// Lua's `pcall`.
    protected_call: Function,
    scripts: HashMap<String, (Function, Flags)>,
}

impl Interpreter {
    pub(crate) fn new() -> Self {
        Self::with_libraries().expect("the libraries of Lua and the functions of this server can be loaded")
    }

    fn with_libraries() -> Result<Self> {
        let lua = Lua::new_with(
            StdLib::STRING | StdLib::TABLE | StdLib::MATH,
            LuaOptions::default(),
        )?;
        let running = Arc::<Mutex<Running>>::default();
        lua.gc_set_mode(GcMode::Incremental(
            GcIncParams::default()
                .pause(GARBAGE_PERCENT)
                .step_multiplier(STEP_PERCENT),
        ));
        let string: Table = lua.globals().get("string")?;
        lua.set_named_registry_value(NUMBER_FORMAT, string.get::<Function>("format")?)?;
        let globals = lua.create_table()?;
        let natives = natives(&lua, &running)?;
        let environment = lua
            .load(include_str!("sandbox.lua"))
            .set_name("=sandbox.lua")
            .call((natives, globals.clone()))?;
        Ok(Self {
            running,
            globals,
            environment,
            protected_call: lua.globals().get("pcall")?,
            scripts: HashMap::new(),
            lua,
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Running> {
        lock(&self.running)
    }

    /// Compiles a script, and keeps it under this hash.
    ///
    /// # Errors
    /// The text of a refusal if it is not Lua, or its first line has an unknown flag.
    pub(crate) fn load(&mut self, hash: String, source: &str) -> std::result::Result<(), String> {
        let (flags, body) = match source.strip_prefix("#!lua") {
            Some(rest) => {
                let (flags, body) = rest.split_once('\n').unwrap_or((rest, ""));
                (parse_flags(flags)?, body)
            }
            None => (Flags::default(), source),
        };
        let chunk = self.lua.load(body).set_name("=user_script");
        let function = chunk
            .set_environment(self.environment.clone())
            .into_function()
            .map_err(|error| format!("ERR Error compiling script: {}", first_line(&error)))?;
        self.scripts.insert(hash, (function, flags));
        Ok(())
    }

    /// Runs a script that was loaded.
    pub(crate) fn run(&self, hash: &str, keys: &[&[u8]], args: &[&[u8]], is_full: bool) -> Answer {
        let Some((function, flags)) = self.scripts.get(hash) else {
            return refusal("NOSCRIPT No matching script. Please use EVAL.");
        };
        if is_full && !flags.allow_oom && !flags.no_writes {
            let reason =
                "allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'";
            return refusal(&format!("OOM {reason}"));
        }
        self.lock().flags = *flags;
        let answer = self.call(function, keys, args);
        answer.unwrap_or_else(|error| refusal(&refusal_text(&error)))
    }

    fn call(&self, function: &Function, keys: &[&[u8]], args: &[&[u8]]) -> Result<Answer> {
        for (name, words) in [(KEYS, keys), (ARGV, args)] {
            let table = self.lua.create_table_with_capacity(words.len(), 0)?;
            for (at, word) in words.iter().enumerate() {
                table.raw_set(at + 1, self.lua.create_string(word)?)?;
            }
            self.globals.raw_set(name, table)?;
        }
        match self.protected_call.call(function)? {
            (true, value) => to_answer(&value),
            // A script may raise the table of a command that was refused.
            (false, table @ Value::Table(_)) => to_answer(&table),
            (false, Value::Error(error)) => Err(*error),
            (false, text) => Err(Error::runtime(text.to_string()?)),
        }
    }
}

fn lock(running: &Mutex<Running>) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The libraries that Redis adds.
fn natives(lua: &Lua, running: &Arc<Mutex<Running>>) -> Result<Table> {
    let command = |is_protected: bool| {
        let running = running.clone();
        lua.create_function(move |lua, values: Variadic<Value>| {
            let words = values.into_iter().map(|value| to_word(lua, value));
            let words: Vec<_> = words.collect::<Result<_>>()?;
            let answer = lock(&running).run_command(&words);
            match answer {
                Ok(answer) => from_answer(lua, answer),
                Err(refusal) if is_protected => status(lua, "err", &refusal),
                Err(refusal) => Err(Error::runtime(refusal)),
            }
        })
    };
    let redis = lua.create_table()?;
    redis.raw_set("call", command(false)?)?;
    redis.raw_set("pcall", command(true)?)?;
    // There are no users, so each may send what there is.
    let may_send = lua
        .create_function(|_, words: Variadic<String>| Ok(words.first().is_some_and(|name| is_known(name))));
    redis.raw_set("acl_check_cmd", may_send?)?;
    redis.raw_set("REDIS_VERSION", VERSION)?;
    let cjson = lua.create_table()?;
    cjson.raw_set("encode", lua.create_function(json::encode)?)?;
    cjson.raw_set("null", Value::NULL)?;
    cjson.raw_set("decode", lua.create_function(json::decode)?)?;
    let packing = lua.create_table()?;
    packing.raw_set("pack", lua.create_function(struct_format::pack)?)?;
    packing.raw_set("unpack", lua.create_function(struct_format::unpack)?)?;
    let natives = lua.create_table()?;
    natives.raw_set("redis", redis)?;
    natives.raw_set("cjson", cjson)?;
    natives.raw_set("struct", packing)?;
    Ok(natives)
}

impl Running {
    /// Runs a command of a script.
    fn run_command(&mut self, words: &[Vec<u8>]) -> std::result::Result<Answer, String> {
        let (name, args) = words
            .split_first()
            .ok_or("ERR Please specify at least one argument for this redis.call() call")?;
        let command = Command::find(name)?;
        if self.flags.no_writes && command.effect != Effect::Reads {
            return Err("ERR Write commands are not allowed from read-only scripts.".to_owned());
        }
        let args: Vec<_> = args.iter().map(Vec::as_slice).collect();
        command.run(&mut self.store, &args)
    }
}

/// Reads `flags=allow-oom,no-writes`.
fn parse_flags(text: &str) -> std::result::Result<Flags, String> {
    let mut flags = Flags::default();
    let names = text.trim().strip_prefix("flags=").unwrap_or_default();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        match name {
            "allow-oom" => flags.allow_oom = true,
            "no-writes" => flags.no_writes = true,
            _ => return Err(format!("ERR Unexpected flag in script shebang: {name}")),
        }
    }
    Ok(flags)
}

/// The error of a script, as its caller reads it. That of a command keeps its code.
fn refusal_text(error: &Error) -> String {
    let text = first_line(error);
    let code = text.split(' ').next().unwrap_or_default();
    if !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_uppercase()) {
        text
    } else {
        format!("ERR {text}")
    }
}

/// The first line of what went wrong first. Lua adds a trace.
fn first_line(error: &Error) -> String {
    let text = match error {
        Error::CallbackError { cause, .. } => return first_line(cause),
        Error::RuntimeError(text) => text.clone(),
        Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    text.lines().next().unwrap_or_default().to_owned()
}
