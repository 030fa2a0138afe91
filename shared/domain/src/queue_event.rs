//! What a queue tells the outside: that it opened, paused, resumed, finished, or is in trouble.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    configuration::Configuration,
    queue_state::QueueState,
    settings::{Entrance, FinishReason},
};

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueEventKind {
    /// Visitors may enter, and no opening lies ahead.
    Opened,
    /// No new visitor may enter, and those in line are still served.
    Draining,
    /// No new visitor may enter, and none is promoted.
    Closed,
    /// The queue is over.
    Finished,
    /// An operator paused the promotion.
    Paused,
    /// An operator resumed the promotion.
    Resumed,
    /// The promoter has failed at some of its work for a while, so an operator should look.
    InTrouble,
    /// The promoter does all of its work again.
    Recovered,
}

impl QueueEventKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Opened,
        Self::Draining,
        Self::Closed,
        Self::Finished,
        Self::Paused,
        Self::Resumed,
        Self::InTrouble,
        Self::Recovered,
    ];

    /// The `detail-type` of the event.
    pub fn detail_type(self) -> &'static str {
        match self {
            Self::Opened => "Queue Opened",
            Self::Draining => "Queue Draining",
            Self::Closed => "Queue Closed",
            Self::Finished => "Queue Finished",
            Self::Paused => "Queue Paused",
            Self::Resumed => "Queue Resumed",
            Self::InTrouble => "Queue In Trouble",
            Self::Recovered => "Queue Recovered",
        }
    }
}

/// One change of a queue. In JSON it is the `detail` of the event, but for the queue and the deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueEvent {
    /// The id of the change. An event that is sent again has the same one.
    pub id: String,
    /// What changed.
    pub kind: QueueEventKind,
    /// The generation of the queue.
    pub generation: u32,
    /// The number of the event within its generation, from 1. A later change has a higher one.
    pub serial: u64,
    /// When the promoter noticed the change, in Unix milliseconds.
    pub noticed_at_ms: u64,
    /// The state of the queue with the change; `None` if the promoter has not read it yet.
    pub state: Option<QueueState>,
    /// Why the queue is over, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// The troubles that the queue is in, with the change.
    pub troubles: BTreeSet<String>,
}

/// The entrance of a queue as its events tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntrancePhase {
    /// The opening lies ahead. No event tells of it.
    Scheduled,
    /// Visitors may enter.
    Open,
    /// No new visitor may enter.
    Draining,
    /// No new visitor may enter, and none is promoted.
    Closed,
    /// The queue is over.
    Finished,
}

impl EntrancePhase {
    /// The event that tells of this phase.
    pub fn event_kind(self) -> Option<QueueEventKind> {
        match self {
            Self::Scheduled => None,
            Self::Open => Some(QueueEventKind::Opened),
            Self::Draining => Some(QueueEventKind::Draining),
            Self::Closed => Some(QueueEventKind::Closed),
            Self::Finished => Some(QueueEventKind::Finished),
        }
    }
}

/// The switches in force at one moment, by an operator or by the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchesInForce {
    /// The entrance.
    pub phase: EntrancePhase,
    /// Whether the queue is paused.
    pub is_paused: bool,
    /// Why the queue is over, if it is.
    #[serde(default)]
    pub finish_reason: Option<FinishReason>,
    /// What the queue does, as its visitors see it.
    pub state: QueueState,
}

impl Configuration {
    /// The switches in force at `now_ms`, in Unix milliseconds of line time.
    pub fn switches_in_force(&self, now_ms: u64) -> SwitchesInForce {
        let phase = match self.settings.entrance_at(now_ms) {
            Entrance::Finished | Entrance::SoldOut | Entrance::Cancelled => EntrancePhase::Finished,
            Entrance::Closed => EntrancePhase::Closed,
            // As in the state: the opening to come says more.
            _ if self.is_scheduled(now_ms) => EntrancePhase::Scheduled,
            Entrance::Draining => EntrancePhase::Draining,
            Entrance::Open => EntrancePhase::Open,
        };
        SwitchesInForce {
            phase,
            is_paused: self.settings.paused,
            finish_reason: (phase == EntrancePhase::Finished).then(|| self.settings.finish_reason()),
            state: self.queue_state(now_ms),
        }
    }
}

/// How the promoter's work for a queue goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueHealth {
    /// All work has succeeded for a while.
    Sound,
    /// Some work has failed for a while. It has the names of the troubles.
    Troubled(BTreeSet<String>),
    /// The promoter does not know yet.
    Unknown,
}
