//! Reads the state of a whole queue: sends `queue_view.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::Version,
    clock::Clocks,
    estimate::{Averages, Counted, Window},
    id::{QueueId, Salt},
    pace::Bucket,
    settings::Settings,
};
use vestibule_line::{Configuration, LineError, Totals, View};

use super::{RedisLine, load::last, reply::Fields, script::Command};

pub(super) static VIEW: LazyLock<Command> = LazyLock::new(|| Command::new("view", include_str!("view.lua")));

pub(super) async fn view(line: &RedisLine, queue: &QueueId) -> Result<View, LineError> {
    let mut reply = line.call(&VIEW, queue).send(line).await?;
    let now_ms = reply.number()?;
    let (waiting, ready, active) = (reply.number()?, reply.number()?, reply.number()?);
    let (ended, journal, aside) = (reply.number()?, reply.number()?, reply.number()?);
    let configuration = configuration(&reply.fields()?)?;
    let (state, load) = (reply.fields()?, reply.fields()?);
    let clocks = Clocks {
        apart: reply.number()? == 1,
        ahead_ms: reply.signed()?,
        offset_ms: state.signed("offset_ms")?,
    };
    let session_ends_in_ms = reply.numbers()?;
    Ok(View {
        now_ms,
        waiting,
        ready,
        active,
        ended,
        journal,
        aside,
        promoted_through: state.number("promoted_through")?,
        heartbeat_ms: state.number("heartbeat_ms")?,
        // A queue from a release without fallback ticks has no such field.
        driven_at_ms: if state.has("driven_at_ms") {
            state.number("driven_at_ms")?
        } else {
            0
        },
        bucket: Bucket {
            credit: state.number("credit")?,
            at_ms: state.number("credit_at_ms")?,
        },
        averages: Averages {
            counted_at_ms: state.number_or_zero("counted_at_ms")?,
            taken_seconds: state.number_or_zero("taken_seconds")?,
            waiting_seconds: state.number_or_zero("waiting_seconds")?,
            line_since_ms: state.number_or_zero("line_since_ms")?,
            moving_since_ms: state.number_or_zero("moving_since_ms")?,
            short: window(&state, "short")?,
            long: window(&state, "long")?,
        },
        version: Version {
            epoch: configuration.epoch,
            v: state.number("v")?,
        },
        totals: totals(&state)?,
        clocks,
        session_ends_in_ms,
        load: last(&load)?.filter(|load| load.counts(now_ms)),
        configuration,
    })
}

fn configuration(config: &Fields) -> Result<Configuration, LineError> {
    let nonsense =
        |what: String| LineError::Nonsense(format!("the hash `config` of a queue is not valid: {what}"));
    let settings =
        serde_json::from_str(config.text("settings")?).map_err(|error| nonsense(error.to_string()))?;
    Ok(Configuration {
        settings: Settings::from_map(&settings).map_err(|error| nonsense(error.to_string()))?,
        revision: config.text("revision")?.to_owned(),
        settings_order: config.number("settings_order")?,
        epoch: config.number("epoch")?,
        generation: config.number("generation")?,
        // A queue from a release without resets has no such field.
        min_epoch: if config.has("min_epoch") {
            config.number("min_epoch")?
        } else {
            0
        },
        salt: Salt::from_text(config.text("salt")?)
            .ok_or_else(|| nonsense("field `salt` is not a salt".to_owned()))?,
    })
}

fn window(state: &Fields, name: &str) -> Result<Window, LineError> {
    Ok(Window {
        mark: counted(state, name)?,
        before: counted(state, &format!("{name}_before"))?,
    })
}

/// Reads the counts of a window. They are all zero if the window has not begun, because then the fields are
/// missing, or if an earlier release began it, because then some of them are missing.
fn counted(state: &Fields, name: &str) -> Result<Counted, LineError> {
    let has = |of: &str| state.has(&format!("{name}_{of}"));
    if !(has("at_ms") && has("expired") && has("no_shows")) {
        return Ok(Counted::default());
    }
    let number = |of: &str| state.number(&format!("{name}_{of}"));
    let signed = |of: &str| state.signed(&format!("{name}_{of}"));
    Ok(Counted {
        at_ms: number("at_ms")?,
        served: number("served")?,
        gone: signed("gone")?,
        expired: number("expired")?,
        no_shows: number("no_shows")?,
        left: signed("left")?,
        taken_seconds: number("taken_seconds")?,
        waiting_seconds: number("waiting_seconds")?,
    })
}

fn totals(state: &Fields) -> Result<Totals, LineError> {
    Ok(Totals {
        entered: state.number("entered")?,
        fast_tracked: state.number("fast_tracked")?,
        promoted: state.number("promoted")?,
        claimed: state.number("claimed")?,
        completed: state.number("completed")?,
        left: state.number("left")?,
        expired: state.number("expired")?,
        no_shows: state.number("no_shows")?,
    })
}
