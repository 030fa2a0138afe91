//! Those who come, over HTTP, and the protected service. They behave as a client should, but that some hang up too early:
//! an answer that does not come is asked for again, and what they end they name the visit of.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use uuid::Uuid;
use vestibule::backup::{Backup, Shelf};

use super::{
    compare::shelf,
    history::{Call, History, What},
    plan::{Door, End, Turn, Visitor},
    world::World,
};
use crate::{
    edge::Ask,
    entries::now_ms,
    functions::{API_KEY, Deployment},
};

/// Longer than any function may run.
const ANSWER: Duration = Duration::from_secs(12);
/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(150);
/// How often a look is tried for a visitor.
const LOOKS: usize = 40;

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

/// What all of them share.
pub(super) struct Way {
    /// The API, with its stage.
    pub(super) url: String,
    /// The path of the queue.
    pub(super) queue: String,
    http: reqwest::Client,
    deployment: Arc<Deployment>,
    shelf: Shelf,
    pub(super) history: History,
    /// How many requests are.
    pub(super) asking: AtomicUsize,
}

/// The run is over.
pub(super) struct Over;

/// A stay as the visitor knows it.
struct Place {
    token: String,
    visit: u64,
    state: String,
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
    pub(super) async fn live(self) -> Result<(), Over> {
        sleep(Duration::from_millis(self.plan.arrives_ms)).await;
        if self.stay(0).await?
            && let Some(again_ms) = self.plan.again_ms
        {
            sleep(Duration::from_millis(again_ms)).await;
            self.way.note_record(self.number, 0).await;
            self.stay(1).await?;
        }
        Ok(())
    }

    /// One stay; whether the visitor ended it.
    async fn stay(&self, stay: usize) -> Result<bool, Over> {
        let came_ms = now_ms();
        let mut place = self.enters(stay).await?;
        loop {
            match place.state.as_str() {
                "active" => match self.is_in(stay, &place).await? {
                    Some(ended) => return Ok(ended),
                    None => place.look_again(),
                },
                "ready" => match self.plan.turn {
                    Turn::Missed => return Ok(false),
                    Turn::Taken { by: Door::Claim, .. } => {
                        let claim = self.of(What::Claim, &place);
                        match self.call(stay, What::Claim, claim).await? {
                            Seen::Here(seen) => place = seen,
                            Seen::Gone => return Ok(false),
                            Seen::NotTheirTurn | Seen::Nothing => place.look_again(),
                        }
                    }
                    Turn::Taken {
                        by: Door::Validate, ..
                    } => match self.validates(stay, &place).await? {
                        Some(true) => "active".clone_into(&mut place.state),
                        Some(false) => return Ok(false),
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
                        return Ok(true);
                    }
                    sleep(Duration::from_millis(self.plan.polls_every_ms)).await;
                    match self
                        .call(stay, What::Status, self.of(What::Status, &place))
                        .await?
                    {
                        Seen::Here(seen) => place = seen,
                        Seen::Gone => return Ok(false),
                        Seen::NotTheirTurn | Seen::Nothing => {}
                    }
                }
            }
        }
    }

    async fn enters(&self, stay: usize) -> Result<Place, Over> {
        loop {
            let ask = Ask::post(format!("{}/entries", self.way.queue)).visitor(&self.id);
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
                // They look until they are told that it is over.
                while !matches!(
                    self.call(stay, What::Status, self.of(What::Status, place))
                        .await?,
                    Seen::Gone
                ) {
                    sleep(Duration::from_millis(self.plan.polls_every_ms)).await;
                }
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

    fn of(&self, what: What, Place { token, visit, .. }: &Place) -> Ask {
        let entry = format!("{}/entries/{token}", self.way.queue);
        let service = |below: &str, body: &Value| {
            Ask::post(format!("{entry}/{below}"))
                .header("x-api-key", API_KEY)
                .json(body)
        };
        match what {
            What::Enter => unreachable!("an entry is of a place"),
            What::Status if self.plan.wait_seconds > 0 => {
                Ask::get(format!("{entry}?wait={}", self.plan.wait_seconds)).visitor(&self.id)
            }
            What::Status => Ask::get(entry).visitor(&self.id),
            What::Claim => Ask::post(format!("{entry}/claim")).visitor(&self.id),
            What::Leave => Ask::delete(format!("{entry}?visit={visit}")).visitor(&self.id),
            What::Validate => service("validate", &json!({ "visitor": self.id, "visit": visit })),
            What::Complete => service("complete", &json!({ "visit": visit })),
        }
    }

    /// Asks, as soon as anybody may, and notes what comes of it.
    async fn call(&self, stay: usize, what: What, ask: Ask) -> Result<Seen, Over> {
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

impl Way {
    /// The way to a world's queue.
    pub(super) fn to(world: &World) -> Self {
        Self {
            url: world.deployment.url().to_owned(),
            queue: format!("/queues/{}", world.queue),
            http: reqwest::Client::new(),
            deployment: world.deployment.clone(),
            shelf: shelf(world),
            history: History::default(),
            asking: AtomicUsize::new(0),
        }
    }

    /// Notes what the table has of a visitor after a stay.
    pub(super) async fn note_record(&self, visitor: usize, stay: usize) {
        let calls = self.history.calls();
        let mut own = calls.iter().rev().filter(|call| call.visitor == visitor);
        let Some(token) = own.find_map(|call| call.text("token")) else {
            return;
        };
        let record = self
            .deployment
            .backup
            .entry(&self.shelf, token.parse().expect("a token"));
        if let Some(record) = record.await.expect("the table itself is never away") {
            self.history.note_record(visitor, stay, record);
        }
    }

    /// Notes what the table has of a visitor at the end.
    pub(super) async fn note_last_record(&self, visitor: usize) {
        let calls = self.history.calls();
        let own = calls.iter().filter(|call| call.visitor == visitor);
        if let Some(stay) = own.map(|call| call.stay).max() {
            self.note_record(visitor, stay).await;
        }
    }

    /// Looks once for every visitor who has a place, until there is an answer.
    pub(super) async fn look_at_all(&self, ids: &[String]) {
        let calls = self.history.calls();
        for (visitor, id) in ids.iter().enumerate() {
            let own = || calls.iter().filter(|call| call.visitor == visitor);
            let (Some(token), Some(stay)) = (
                own().rev().find_map(|call| call.text("token")),
                own().map(|call| call.stay).max(),
            ) else {
                continue;
            };
            for _ in 0..LOOKS {
                let begun_ms = now_ms();
                let ask = Ask::get(format!("{}/entries/{token}", self.queue)).visitor(id);
                let answer = timeout(ANSWER, self.send(ask)).await.ok().flatten();
                let call = Call {
                    visitor,
                    stay,
                    what: What::Status,
                    begun_ms,
                    ended_ms: now_ms(),
                    answer,
                };
                let status = call.status();
                self.history.note(call);
                if (200..500).contains(&status) {
                    break;
                }
                sleep(AGAIN).await;
            }
        }
    }

    /// Sends a request; `None` where no whole answer comes.
    async fn send(&self, ask: Ask) -> Option<(u16, Value)> {
        let _asking = Asking::new(&self.asking);
        let (method, path, headers, body) = ask.into_parts();
        let request = self.http.request(method, format!("{}{path}", self.url));
        let answer = request.headers(headers).body(body).send().await.ok()?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.ok()?;
        Some((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }
}

/// A request that is counted.
struct Asking<'a>(&'a AtomicUsize);

impl<'a> Asking<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A visitor id that a client draws.
pub(super) fn visitor_id() -> String {
    Uuid::new_v4().to_string()
}
