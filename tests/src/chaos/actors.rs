//! Those who come, over HTTP, and the protected service. They behave as a client should, but that some hang up too early:
//! an answer that does not come is asked for again, and what they end they name the visit of.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use uuid::Uuid;

use super::{
    history::{Call, What},
    plan::{Door, End, Turn, Visitor},
    way::{AGAIN, ANSWER, Way},
};
use crate::{entries::now_ms, functions::API_KEY, in_process::ApiRequest};

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Everybody does as they like.
    Going,
    /// Nobody asks for anything.
    Still,
    /// Everybody goes on, and nothing goes wrong any more.
    Through,
    /// Whoever is not done by now is stuck.
    Over,
}

/// One visitor on their way.
pub(super) struct Actor {
    pub(super) number: usize,
    pub(super) plan: Visitor,
    pub(super) id: String,
    pub(super) way: Arc<Way>,
    pub(super) phase: watch::Receiver<Phase>,
}

/// The run is over.
pub(super) struct Over;

/// A stay as the visitor knows it.
struct Place {
    token: String,
    visit: u64,
    state: String,
}

/// How a stay was over.
enum Parting {
    /// The visitor ended it.
    Wished,
    /// The turn came, and nobody claimed it in time.
    Missed,
    /// Otherwise.
    Sent,
}

/// What came of one look.
enum Seen {
    Here(Place),
    /// 410, or 404.
    Gone,
    /// 409
    NotTheirTurn,
    /// No answer, or one that says to ask again.
    Nothing,
}

impl Place {
    /// It is not as it seemed.
    fn look_again(&mut self) {
        "unknown".clone_into(&mut self.state);
    }
}

impl Actor {
    /// Comes, and comes again where the plan says so.
    pub(super) async fn live(mut self) -> Result<(), Over> {
        sleep(Duration::from_millis(self.plan.arrives_ms)).await;
        let again_ms = match self.stay(0).await? {
            Parting::Wished => self.plan.again_ms,
            // They want the place back, and do better this time.
            Parting::Missed => {
                self.plan.turn = Turn::BACK;
                Some(0)
            }
            Parting::Sent => None,
        };
        if let Some(again_ms) = again_ms {
            sleep(Duration::from_millis(again_ms)).await;
            self.way.note_record(self.number, 0).await;
            self.stay(1).await?;
        }
        Ok(())
    }

    /// One stay.
    async fn stay(&self, stay: usize) -> Result<Parting, Over> {
        let came_ms = now_ms();
        let mut place = self.enters(stay).await?;
        loop {
            match place.state.as_str() {
                "active" => match self.is_in(stay, &place).await? {
                    Some(true) => return Ok(Parting::Wished),
                    Some(false) => return Ok(Parting::Sent),
                    None => place.look_again(),
                },
                "ready" => match self.plan.turn {
                    Turn::Missed => {
                        self.looks_until_gone(stay, &place).await?;
                        return Ok(Parting::Missed);
                    }
                    Turn::Taken { by: Door::Claim, .. } => {
                        let claim = self.of(What::Claim, &place);
                        match self.call(stay, What::Claim, claim).await? {
                            Seen::Here(seen) => place = seen,
                            Seen::Gone => return Ok(Parting::Sent),
                            Seen::NotTheirTurn | Seen::Nothing => place.look_again(),
                        }
                    }
                    Turn::Taken {
                        by: Door::Validate, ..
                    } => match self.validates(stay, &place).await? {
                        Some(true) => "active".clone_into(&mut place.state),
                        Some(false) => return Ok(Parting::Sent),
                        None => place.look_again(),
                    },
                },
                _ => {
                    let has_left = self
                        .plan
                        .leaves_ms
                        .is_some_and(|leaves_ms| now_ms() >= came_ms + leaves_ms);
                    if has_left {
                        self.ends(stay, What::Leave, &place).await?;
                        return Ok(Parting::Wished);
                    }
                    sleep(Duration::from_millis(self.plan.polls_every_ms)).await;
                    match self
                        .call(stay, What::Status, self.of(What::Status, &place))
                        .await?
                    {
                        Seen::Here(seen) => place = seen,
                        Seen::Gone => return Ok(Parting::Sent),
                        Seen::NotTheirTurn | Seen::Nothing => {}
                    }
                }
            }
        }
    }

    async fn enters(&self, stay: usize) -> Result<Place, Over> {
        loop {
            let ask = ApiRequest::post(format!("{}/entries", self.way.queue)).visitor(&self.id);
            if let Seen::Here(place) = self.call(stay, What::Enter, ask).await? {
                return Ok(place);
            }
        }
    }

    /// Whether the protected service lets the visitor act: `None` where nobody could say.
    async fn validates(&self, stay: usize, place: &Place) -> Result<Option<bool>, Over> {
        let ask = self.of(What::Validate, place);
        Ok(match self.call(stay, What::Validate, ask).await? {
            Seen::Here(_) => Some(true),
            Seen::Gone => Some(false),
            Seen::NotTheirTurn | Seen::Nothing => None,
        })
    }

    /// Acts and goes; whether by the visitor's own will. `None` where they turn out not to be in, which only a claim that was
    /// not durable may come to.
    async fn is_in(&self, stay: usize, place: &Place) -> Result<Option<bool>, Over> {
        let Turn::Taken { stay_ms, end, .. } = self.plan.turn else {
            return Ok(Some(false));
        };
        self.validates(stay, place).await?;
        sleep(Duration::from_millis(stay_ms)).await;
        let what = match end {
            End::Complete => What::Complete,
            End::Leave => What::Leave,
            End::Session => {
                self.looks_until_gone(stay, place).await?;
                return Ok(Some(false));
            }
        };
        if !self.ends(stay, what, place).await? {
            return Ok(None);
        }
        // Nobody is let in any more on that visit, however often it is asked.
        self.call(stay, What::Validate, self.of(What::Validate, place))
            .await?;
        Ok(Some(true))
    }

    /// Looks until they are told that it is over.
    async fn looks_until_gone(&self, stay: usize, place: &Place) -> Result<(), Over> {
        loop {
            let look = self.of(What::Status, place);
            if matches!(self.call(stay, What::Status, look).await?, Seen::Gone) {
                return Ok(());
            }
            sleep(Duration::from_millis(self.plan.polls_every_ms)).await;
        }
    }

    /// Ends the stay, until that is acknowledged; not where it cannot be ended like this.
    async fn ends(&self, stay: usize, what: What, place: &Place) -> Result<bool, Over> {
        loop {
            match self.call(stay, what, self.of(what, place)).await? {
                Seen::Here(_) | Seen::Gone => return Ok(true),
                Seen::NotTheirTurn => return Ok(false),
                Seen::Nothing => {}
            }
        }
    }

    fn of(&self, what: What, Place { token, visit, .. }: &Place) -> ApiRequest {
        let entry = format!("{}/entries/{token}", self.way.queue);
        let service = |below: &str, body: &Value| {
            ApiRequest::post(format!("{entry}/{below}"))
                .header("x-api-key", API_KEY)
                .json(body)
        };
        match what {
            What::Enter => unreachable!("an entry is of a place"),
            What::Status if self.plan.wait_seconds > 0 => {
                ApiRequest::get(format!("{entry}?wait={}", self.plan.wait_seconds)).visitor(&self.id)
            }
            What::Status => ApiRequest::get(entry).visitor(&self.id),
            What::Claim => ApiRequest::post(format!("{entry}/claim")).visitor(&self.id),
            What::Leave => ApiRequest::delete(format!("{entry}?visit={visit}")).visitor(&self.id),
            What::Validate => service("validate", &json!({ "visitor": self.id, "visit": visit })),
            What::Complete => service("complete", &json!({ "visit": visit })),
        }
    }

    /// Asks, as soon as anybody may, and notes what comes of it.
    async fn call(&self, stay: usize, what: What, ask: ApiRequest) -> Result<Seen, Over> {
        let mut phase = self.phase.clone();
        let may = phase
            .wait_for(|phase| *phase != Phase::Still)
            .await
            .map(|phase| *phase);
        let phase = may.map_err(|_| Over)?;
        if phase == Phase::Over {
            return Err(Over);
        }
        let hangs_up = self.plan.hangs_up_ms.filter(|_| phase == Phase::Going);
        let limit = hangs_up.map_or(ANSWER, Duration::from_millis);
        let begun_ms = now_ms();
        let answer = timeout(limit, self.way.send(ask)).await.ok().flatten();
        let call = Call {
            visitor: self.number,
            stay,
            what,
            begun_ms,
            ended_ms: now_ms(),
            answer,
        };
        let seen = match (call.status(), call.text("token")) {
            (200 | 201, Some(token)) => Seen::Here(Place {
                token: token.to_owned(),
                visit: call.number("visit").unwrap_or_default(),
                state: call.text("state").unwrap_or_default().to_owned(),
            }),
            (200..300, None) => Seen::Here(Place {
                token: String::new(),
                visit: 0,
                state: String::new(),
            }),
            (404 | 410, _) => Seen::Gone,
            (409, _) => Seen::NotTheirTurn,
            _ => Seen::Nothing,
        };
        self.way.history.note(call);
        if matches!(seen, Seen::Nothing | Seen::NotTheirTurn) {
            sleep(AGAIN).await;
        }
        Ok(seen)
    }
}

/// A visitor id that a client draws.
pub(super) fn visitor_id() -> String {
    Uuid::new_v4().to_string()
}
