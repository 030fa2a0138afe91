//! The outbox of a queue's events: which changes were noticed, and which events are still to be sent.
//!
//! A process that notices a change writes the event into the outbox, then sends it, then takes it out. One that dies in
//! between leaves the event there, and the next one sends it again with the same id. See
//! `docs/adr/0044-events.md`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    id::{QueueId, Salt},
    queue_event::{QueueEvent, QueueEventKind, QueueHealth, SwitchesInForce},
};

/// How many events of a queue wait to be sent at most. Another one takes the place of the oldest.
pub const PENDING_EVENTS_MAX: usize = 20;

/// The bytes of a hash that an id shows.
const HASH_BYTES: usize = 16;

/// Which life of a queue an event is of: a reset and a new creation begin another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLife {
    /// The generation.
    pub generation: u32,
    /// Tells apart two queues of the same name and generation. The salt does not follow from it.
    salt_hash: String,
}

impl QueueLife {
    /// The life of a queue with this generation and salt.
    pub fn new(generation: u32, salt: &Salt) -> Self {
        Self {
            generation,
            salt_hash: short_hash(&["queue life", &salt.to_text()]),
        }
    }
}

/// What the promoter saw of a queue at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueObservation {
    /// The life of the queue.
    pub life: QueueLife,
    /// The switches in force; `None` if the line did not answer.
    pub switches: Option<SwitchesInForce>,
    /// How the promoter's work goes.
    pub health: QueueHealth,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
}

/// The outbox of one queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventOutbox {
    life: QueueLife,
    /// The number of events of this life so far.
    serial: u64,
    /// The switches that were last noticed; `None` before the first time.
    switches: Option<SwitchesInForce>,
    troubles: BTreeSet<String>,
    pending: Vec<QueueEvent>,
    /// How many events had to make room for later ones.
    dropped: u64,
}

impl EventOutbox {
    /// The outbox of a queue of which nothing was noticed yet.
    pub fn new(life: QueueLife) -> Self {
        Self {
            life,
            serial: 0,
            switches: None,
            troubles: BTreeSet::new(),
            pending: Vec::new(),
            dropped: 0,
        }
    }

    /// The life of the queue that was last noticed.
    pub fn life(&self) -> &QueueLife {
        &self.life
    }

    /// The events to be sent, the oldest first.
    pub fn pending(&self) -> &[QueueEvent] {
        &self.pending
    }

    /// How many events had to make room for later ones.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Adds the events of all changes since the last observation. Events of an earlier life stay. Returns whether the
    /// outbox changed.
    pub fn notice(&mut self, queue: &QueueId, seen: &QueueObservation) -> bool {
        let before = self.clone();
        if self.life != seen.life {
            *self = Self {
                pending: std::mem::take(&mut self.pending),
                dropped: self.dropped,
                ..Self::new(seen.life.clone())
            };
        }
        if let Some(switches) = seen.switches {
            self.notice_switches(queue, switches, seen.at_ms);
        }
        match &seen.health {
            QueueHealth::Troubled(troubles) => {
                let is_new = !troubles.is_subset(&self.troubles);
                self.troubles.clone_from(troubles);
                if is_new {
                    self.add(queue, QueueEventKind::InTrouble, seen.at_ms);
                }
            }
            QueueHealth::Sound if !self.troubles.is_empty() => {
                self.troubles.clear();
                self.add(queue, QueueEventKind::Recovered, seen.at_ms);
            }
            QueueHealth::Sound | QueueHealth::Unknown => {}
        }
        *self != before
    }

    fn notice_switches(&mut self, queue: &QueueId, switches: SwitchesInForce, at_ms: u64) {
        let before = self.switches.replace(switches);
        if before.is_none_or(|before| before.phase != switches.phase)
            && let Some(kind) = switches.phase.event_kind()
        {
            self.add(queue, kind, at_ms);
        }
        match (before.is_some_and(|before| before.is_paused), switches.is_paused) {
            (false, true) => self.add(queue, QueueEventKind::Paused, at_ms),
            (true, false) => self.add(queue, QueueEventKind::Resumed, at_ms),
            (true, true) | (false, false) => {}
        }
    }

    fn add(&mut self, queue: &QueueId, kind: QueueEventKind, at_ms: u64) {
        self.serial += 1;
        let (generation, serial) = (self.life.generation, self.serial);
        let parts = [
            queue.as_str(),
            &generation.to_string(),
            &self.life.salt_hash,
            &serial.to_string(),
            kind.detail_type(),
        ];
        if self.pending.len() == PENDING_EVENTS_MAX {
            self.pending.remove(0);
            self.dropped += 1;
        }
        self.pending.push(QueueEvent {
            id: short_hash(&parts),
            kind,
            generation,
            serial,
            noticed_at_ms: at_ms,
            state: self.switches.map(|switches| switches.state),
            finish_reason: self.switches.and_then(|switches| switches.finish_reason),
            troubles: self.troubles.clone(),
        });
    }

    /// Takes out the events that were sent. Returns whether the outbox changed.
    pub fn acknowledge(&mut self, sent: &BTreeSet<String>) -> bool {
        let before = self.pending.len();
        self.pending.retain(|event| !sent.contains(&event.id));
        self.pending.len() != before
    }
}

/// 32 hexadecimal digits that identify these texts. No part contains a line break.
fn short_hash(parts: &[&str]) -> String {
    let hash = Sha256::digest(parts.join("\n"));
    let (shown, _) = hash.split_at(HASH_BYTES);
    shown
        .iter()
        .fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests;
