//! Reads the state of a whole queue: sends `queue_view.lua`.

use std::time::Duration;

use vestibule_domain::{
    change::Version,
    clock::ClockDifference,
    configuration::{Configuration, LAYOUT},
    estimate::{CountWindow, LineCounts, MovingAverages},
    id::{QueueId, Salt},
    kept_times::KeptTimes,
    pace::{LimitedBy, Pace, PaceBucket},
    settings::Settings,
};

use super::{
    Line, fields::Fields, lanes::read_lanes, record_load::read_last_load, reply::ScriptReply, script::script,
    tally::read_totals,
};
use crate::{Imbalance, LineError, OperatorView, QueueView, TickMark, VIEW_AGE_MAX};

script!(QUEUE_VIEW, "tick/queue_view");

impl Line {
    /// Returns the current state of the queue: its configuration, counts, clocks and averages.
    pub async fn queue_view(&self, queue: &QueueId) -> Result<OperatorView, LineError> {
        let (view, mut reply) = read_view(self, queue, Duration::ZERO).await?;
        Ok(OperatorView {
            view,
            unsettled_ends: reply.read_number()?,
            dead_letters: reply.read_number()?,
            called: reply.read_number()?,
            present: reply.read_number()?,
        })
    }

    /// Returns the state of the queue for one of many processes that all need it once a second. Its
    /// counts may be up to [`VIEW_AGE_MAX`] old. Its configuration, version, clocks and heartbeat are
    /// current.
    pub async fn recent_queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError> {
        let (view, _) = read_view(self, queue, VIEW_AGE_MAX).await?;
        Ok(view)
    }
}

/// Reads the state of a queue. Its counts and configuration may be as old as `age_max`, if another
/// process has read them in the meantime; its version, clocks and heartbeat are current. Returns also the rest of the
/// reply, which only operators' views have.
async fn read_view(
    line: &Line,
    queue: &QueueId,
    age_max: Duration,
) -> Result<(QueueView, ScriptReply), LineError> {
    let call = line
        .begin_call(&QUEUE_VIEW, queue)
        .arg(age_max.as_millis())
        .may_run_twice();
    let mut reply = call.send(line).await?;
    let now_ms = reply.read_number()?;
    let (is_apart, ahead_ms) = (reply.read_number()? == 1, reply.read_signed()?);
    let line_fields = reply.read_fields()?;
    let mut reply = reply.read_json_values()?;
    let (waiting, ready, active) = (reply.read_number()?, reply.read_number()?, reply.read_number()?);
    let (held, journal) = (reply.read_number()?, reply.read_number()?);
    let configuration = read_configuration(&reply.read_fields()?)?;
    let (state, load) = (reply.read_fields()?.with(line_fields), reply.read_fields()?);
    let clocks = ClockDifference {
        apart: is_apart,
        ahead_ms,
        offset_ms: state.signed_or_zero("offset_ms")?,
    };
    let session_ends_in_ms = reply.read_numbers()?;
    let waiting_by_lane = reply.read_numbers()?;
    let lanes = read_lanes(&state)?;
    let totals = read_totals(&state)?;
    let view = QueueView {
        now_ms,
        waiting,
        ready,
        active,
        held,
        journal_len: journal,
        promoted_through: state.number("promoted_through")?,
        absent: lanes.iter().map(|(_, progress)| progress.absent).sum(),
        waiting_by_lane: waiting_by_lane.try_into().unwrap_or_default(),
        lanes,
        standstill: if state.has("standstill") {
            LimitedBy::from_name(state.text("standstill")?)
        } else {
            None
        },
        heartbeat_ms: state.number("heartbeat_ms")?,
        fallback_ticked_at_ms: state.number("fallback_tick_at_ms")?,
        bucket: PaceBucket {
            credit: state.number("credit")?,
            at_ms: state.number("credit_at_ms")?,
        },
        bucket_pace: Pace {
            batch: state.number("credit_batch")?,
            ..configuration.settings.pace()
        },
        averages: MovingAverages {
            last_tick_at_ms: state.number("counted_at_ms")?,
            taken_seconds: state.number("taken_seconds")?,
            waiting_seconds: state.number("waiting_seconds")?,
            paced: state.number("paced")?,
            paced_seconds: state.number("paced_seconds")?,
            rate_since_ms: state.number("rate_since_ms")?,
            short: read_window(&state, "short")?,
            long: read_window(&state, "long")?,
        },
        version: Version {
            epoch: configuration.epoch,
            v: state.number("v")?,
        },
        totals,
        gone_ahead_offset: state.number_or_zero("gone_ahead_offset")?,
        last_tick: TickMark {
            epoch: configuration.epoch,
            ticks: state.number("ticks")?,
            at_ms: state.number("ticked_at_ms")?,
        },
        imbalance: Imbalance {
            visits: totals.compute_imbalance(waiting + ready + active),
            at_check: state.signed_or_zero("checked_imbalance")?,
        },
        check_due_ms: state.number("check_due_ms")?,
        clocks,
        session_ends_in_ms,
        load: read_last_load(&load)?,
        configuration,
    };
    Ok((view, reply))
}

fn read_configuration(config: &Fields) -> Result<Configuration, LineError> {
    let nonsense =
        |what: String| LineError::Protocol(format!("the hash `config` of a queue is not valid: {what}"));
    let settings =
        serde_json::from_str(config.text("settings")?).map_err(|error| nonsense(error.to_string()))?;
    let layout: u32 = config.number("layout")?;
    if layout != LAYOUT {
        return Err(nonsense(format!(
            "it has layout {layout}, which another build wrote, and this build reads layout {LAYOUT}"
        )));
    }
    let salt = Salt::from_text(config.text("salt")?)
        .ok_or_else(|| nonsense("field `salt` is not a salt".to_owned()))?;
    let root = config.has("root_key").then(|| config.text("root_key"));
    let root = root.transpose()?.map(str::parse).transpose();
    let kept = config.has("kept_times").then(|| config.text("kept_times"));
    let kept = kept.transpose()?.map(str::parse::<KeptTimes>).transpose();
    Ok(Configuration {
        settings: Settings::from_map(&settings).map_err(|error| nonsense(error.to_string()))?,
        revision: config.text("revision")?.to_owned(),
        settings_order: config.number("settings_order")?,
        epoch: config.number("epoch")?,
        generation: config.number("generation")?,
        min_epoch: config.number("min_epoch")?,
        salt: salt.with_root(root.map_err(|_| nonsense("field `root_key` is no fingerprint".to_owned()))?),
        opened_at_ms: Some(config.number_or_zero("opened_at_ms")?).filter(|at_ms| *at_ms > 0),
        kept_times: kept
            .map_err(|error| nonsense(format!("field `kept_times` {error}")))?
            .unwrap_or_default(),
    })
}

fn read_window(state: &Fields, name: &str) -> Result<CountWindow, LineError> {
    Ok(CountWindow {
        current_start: read_counts(state, name)?,
        previous_start: read_counts(state, &format!("{name}_before"))?,
    })
}

/// Reads the counts of a window. They are all zero if the window has not begun, because then the
/// fields are missing.
fn read_counts(state: &Fields, name: &str) -> Result<LineCounts, LineError> {
    if !state.has(&format!("{name}_at_ms")) {
        return Ok(LineCounts::default());
    }
    let number = |of: &str| state.number(&format!("{name}_{of}"));
    let signed = |of: &str| state.signed_or_zero(&format!("{name}_{of}"));
    Ok(LineCounts {
        at_ms: number("at_ms")?,
        served: number("served")?,
        freed: signed("gone")?,
        expired: number("expired")?,
        no_shows: number("no_shows")?,
        left: signed("left")?,
        passed_over: signed("passed_over")?,
        taken_seconds: number("taken_seconds")?,
        waiting_seconds: number("waiting_seconds")?,
        paced: number("paced")?,
        paced_seconds: number("paced_seconds")?,
    })
}
