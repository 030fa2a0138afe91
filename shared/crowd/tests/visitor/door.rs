//! A door of a queue that one visitor uses, by a script. It has no server, and its time is that of tokio, which a test pauses.

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::time::{Duration, Instant, sleep};
use vestibule_crowd::{
    door::{Caller, Door, ProtectedService},
    rules::Refusal,
};
use vestibule_domain::{estimate::Estimate, queue_state::QueueState, state::EntryState};
use vestibule_wire::{Code, Entry, PublicDocument};

/// What the queue does. Times are milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    /// How long after entering the turn comes. 0 lets the visitor in at once.
    pub(crate) turn_after_ms: u64,
    /// The same for a visitor who enters again.
    pub(crate) next_turn_after_ms: u64,
    /// For how long the turn can be claimed.
    pub(crate) claim_ms: u64,
    /// Whether the queue ends a turn at its deadline.
    pub(crate) ends_turns: bool,
    /// How long a session lasts, also after it was made longer.
    pub(crate) session_ms: u64,
    /// How long a session lasts at most.
    pub(crate) session_max_ms: u64,
    /// Refuses a request, by its name and by how many of this name were sent before.
    pub(crate) refuse: fn(&str, u32) -> Option<Refusal>,
}

impl Default for Script {
    /// The turn comes after ten seconds.
    fn default() -> Self {
        Self {
            turn_after_ms: 10_000,
            next_turn_after_ms: 10_000,
            claim_ms: 20_000,
            ends_turns: true,
            session_ms: 300_000,
            session_max_ms: 3_600_000,
            refuse: |_, _| None,
        }
    }
}

/// The answer of a proxy.
pub(crate) fn unavailable() -> Refusal {
    Refusal::from_answer(503, 0.0, b"")
}

/// The answer of the API that the visit is over.
pub(crate) fn end_of_visit(code: Code) -> Refusal {
    Refusal {
        status: 410,
        code: Some(code),
        retry_after_ms: 0.0,
        state: Some(EntryState::Expired),
    }
}

/// A request that the door got: when, in milliseconds from the start, and its name.
pub(crate) type Request = (u64, &'static str);

#[derive(Debug)]
pub(crate) struct ScriptedDoor {
    script: Script,
    began_at: Instant,
    place: Mutex<Place>,
}

/// The place of the visitor. Times are milliseconds from the start.
#[derive(Debug, Default)]
struct Place {
    requests: Vec<Request>,
    visit: u64,
    entered_ms: u64,
    turn_ms: u64,
    claimed_ms: Option<u64>,
    session_ends_ms: u64,
    ended: Option<Code>,
}

impl ScriptedDoor {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script,
            began_at: Instant::now(),
            place: Mutex::default(),
        }
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.place().requests.clone()
    }

    /// When requests of this name came.
    pub(crate) fn times_of(&self, name: &str) -> Vec<u64> {
        let requests = self.requests();
        let named = requests.iter().filter(|(_, other)| *other == name);
        named.map(|(at_ms, _)| *at_ms).collect()
    }

    /// Forgets the turn and the claim, as a server does that lost its last changes. The turn comes again so much later.
    pub(crate) fn forget_turn(&self, again_after_ms: u64) {
        let now_ms = self.now_ms();
        let mut place = self.place();
        (place.turn_ms, place.claimed_ms) = (now_ms + again_after_ms, None);
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().expect("no test panics with the lock")
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began_at.elapsed().as_millis()).expect("a short time")
    }

    fn record(&self, name: &'static str) -> Result<(), Refusal> {
        let mut place = self.place();
        let before = place.requests.iter().filter(|(_, other)| *other == name).count();
        place.requests.push((self.now_ms(), name));
        (self.script.refuse)(name, u32::try_from(before).expect("few")).map_or(Ok(()), Err)
    }

    /// Ends what is due, and answers about the place.
    fn answer(&self) -> Result<Entry, Refusal> {
        let now_ms = self.now_ms();
        let script = self.script;
        let mut place = self.place();
        let is_claimed = place.claimed_ms.is_some();
        let deadline_ms = place.turn_ms.saturating_add(script.claim_ms);
        if (is_claimed && now_ms >= place.session_ends_ms)
            || (!is_claimed && now_ms >= deadline_ms && script.ends_turns)
        {
            place.ended.get_or_insert(Code::Expired);
        }
        if let Some(code) = place.ended {
            return Err(end_of_visit(code));
        }
        let state = match now_ms >= place.turn_ms {
            _ if is_claimed => EntryState::Active,
            true => EntryState::Ready,
            false => EntryState::Waiting,
        };
        let mut entry = Entry::new(
            "shop:1".to_owned(),
            "token".to_owned(),
            place.visit,
            state,
            QueueState::Open,
        );
        entry.joined_at_ms = Some(place.entered_ms);
        entry.retry_after_ms = Some(2_000);
        match state {
            EntryState::Waiting => {
                let left_s = (place.turn_ms - now_ms).div_ceil(1_000);
                entry.position = Some(left_s);
                entry.estimated_wait_seconds = Some(Estimate {
                    low: left_s,
                    high: left_s,
                });
            }
            EntryState::Ready => {
                entry.promoted_at_ms = Some(place.turn_ms);
                entry.claim_by_ms = Some(deadline_ms);
                entry.claim_in_ms = Some(deadline_ms.saturating_sub(now_ms));
            }
            _ => {
                entry.promoted_at_ms = Some(place.turn_ms);
                entry.expires_in_ms = Some(place.session_ends_ms - now_ms);
            }
        }
        Ok(entry)
    }

    fn begin_session(&self) {
        let now_ms = self.now_ms();
        let mut place = self.place();
        let claimed_ms = *place.claimed_ms.get_or_insert(now_ms);
        let longest_ms = claimed_ms + self.script.session_max_ms;
        place.session_ends_ms = (now_ms + self.script.session_ms).min(longest_ms);
    }

    fn end(&self, code: Code) {
        self.place().ended.get_or_insert(code);
    }
}

impl Door for ScriptedDoor {
    async fn enter(&self, _: &Caller) -> Result<Entry, Refusal> {
        self.record("enter")?;
        let now_ms = self.now_ms();
        let is_new = {
            let mut place = self.place();
            let is_new = place.visit == 0 || place.ended.is_some();
            if is_new {
                let after_ms = match place.visit {
                    0 => self.script.turn_after_ms,
                    _ => self.script.next_turn_after_ms,
                };
                place.visit += 1;
                place.entered_ms = now_ms;
                place.turn_ms = now_ms.saturating_add(after_ms);
                (place.claimed_ms, place.ended) = (None, None);
            }
            is_new
        };
        if is_new && self.script.turn_after_ms == 0 {
            self.begin_session();
        }
        self.answer()
    }

    async fn status(&self, _: &Caller, _: &str, hold_seconds: u32) -> Result<Entry, Refusal> {
        self.record("poll")?;
        let turn_in_ms = self.place().turn_ms.saturating_sub(self.now_ms());
        let hold_ms = u64::from(hold_seconds) * 1_000;
        sleep(Duration::from_millis(hold_ms.min(turn_in_ms))).await;
        self.answer()
    }

    async fn document(&self) -> Result<Arc<PublicDocument>, Refusal> {
        self.record("document")?;
        Err(Refusal::NO_ANSWER)
    }

    async fn claim(&self, _: &Caller, _: &str) -> Result<Entry, Refusal> {
        self.record("claim")?;
        if self.answer()?.state == EntryState::Ready {
            self.begin_session();
        }
        self.answer()
    }

    async fn leave(&self, _: &Caller, _: &str, _: u64) -> Result<(), Refusal> {
        self.record("leave")?;
        self.end(Code::Left);
        Ok(())
    }
}

impl ProtectedService for ScriptedDoor {
    async fn validate(&self, _: &Caller, _: &str, _: u64) -> Result<(), Refusal> {
        self.record("validate")?;
        self.answer().map(drop)
    }

    async fn complete(&self, _: &str, _: u64) -> Result<(), Refusal> {
        self.record("complete")?;
        self.end(Code::Completed);
        Ok(())
    }

    async fn extend(&self, _: &Caller, _: &str, _: u64) -> Result<Entry, Refusal> {
        self.record("extend")?;
        self.answer()?;
        self.begin_session();
        self.answer()
    }
}
