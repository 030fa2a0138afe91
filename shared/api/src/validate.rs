//! `POST /queues/{queue}/entries/{token}/validate`: tells the protected service whether a visitor may act.
//! The service names the visitor or presents the visitor's pass.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use serde::Serialize;
use vestibule_domain::{id::EntryId, score::Visit, standing::Standing, state::State as EntryState};
use vestibule_line::{Check, Validated};

use super::{
    Edge,
    away::{Away, Honoured, Sight},
    code::Code,
    entry::json,
    gateway::Gateway,
    gone::Unanswered,
    problem::Problem,
    request::{AtEntry, Body, Fields},
    views::Seen,
    visitor::{is_owner, mismatch},
};

/// The body of a validate request.
pub(super) struct Question {
    pub(super) visitor: Option<String>,
    pub(super) pass: Option<String>,
    pub(super) consume: bool,
    pub(super) visit: Option<Visit>,
}

impl TryFrom<Fields> for Question {
    type Error = Problem;

    fn try_from(mut fields: Fields) -> Result<Self, Problem> {
        let question = Self {
            visitor: fields.text("visitor")?,
            pass: fields.text("pass")?,
            consume: fields.flag("consume")?.unwrap_or(false),
            visit: fields.visit()?,
        };
        fields.finish()?;
        if question.visitor.is_none() && question.pass.is_none() {
            return Err(Problem::field(
                "visitor",
                "must be given unless the request has a pass",
            ));
        }
        Ok(question)
    }
}

#[derive(Serialize)]
struct Answer {
    valid: bool,
    state: EntryState,
    visit: u16,
    expires_at_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    durable: Option<bool>,
    /// Whether the answer was given without the line; left out otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
}

impl Answer {
    /// `expires_at_ms` is the time until which the pass is accepted, because only the line knows the end of
    /// the session.
    fn without_line(honoured: &Honoured) -> Self {
        Self {
            valid: true,
            state: EntryState::Active,
            visit: honoured.visit.number(),
            expires_at_ms: honoured.until_ms,
            durable: None,
            degraded: true,
        }
    }
}

pub(super) async fn handle(
    State(edge): State<Arc<Edge>>,
    AtEntry { queue, id }: AtEntry,
    gateway: Gateway,
    Body(question): Body<Question>,
) -> Result<Response, Problem> {
    edge.service_only(&gateway)?;
    let honour = async |away| {
        let honoured = edge.honour(&away, id, &question).await?;
        Ok(json(StatusCode::OK, &Answer::without_line(&honoured)))
    };
    let mut seen = match edge.sight(&queue).await? {
        Sight::Line(seen) => seen,
        Sight::Backup(away) => return honour(away).await,
    };
    let mut answer = edge.validated(&seen, id, &question).await;
    if matches!(answer, Ok(Validated::NotYet(_))) && question.pass.is_some() {
        // The pass proves that the entry was let in, so the line was restored after the snapshot was taken.
        // The request is tried again with a new snapshot.
        edge.views.forget(&queue);
        seen = edge.seen(&queue).await?;
        answer = edge.validated(&seen, id, &question).await;
    }
    let validated = match answer {
        Ok(validated) => validated,
        Err(Unanswered::LineAway(cause)) => return honour(Away::after(&seen, cause)).await,
        Err(Unanswered::Refused(problem)) => return Err(problem),
    };
    let (standing, change) = match validated {
        Validated::Active { standing, change } => (standing, change),
        Validated::NotYet(standing) => return Err(Problem::not_your_turn(&standing)),
        Validated::OtherVisit if question.pass.is_some() => {
            return Err(Problem::new(
                Code::PassRefused,
                "the pass belongs to another visit",
            ));
        }
        Validated::OtherVisit => return Err(Problem::other_visit()),
        Validated::Gone(missing) => return Err(edge.gone(&seen, id, missing).await),
    };
    let Standing::Active {
        visit,
        session_end_ms,
        ..
    } = standing
    else {
        return Err(Problem::internal(
            "the line returned an entry as active that has another state",
        ));
    };
    let durable = match change {
        Some(change) => {
            let through = edge.write(&seen, &change).await?;
            edge.was_not_over(&seen, &standing, &change, &through).await?;
            Some(through.durable)
        }
        None => None,
    };
    let answer = Answer {
        valid: true,
        state: standing.state(),
        visit: visit.number(),
        expires_at_ms: session_end_ms,
        durable,
        degraded: false,
    };
    Ok(json(StatusCode::OK, &answer))
}

/// The problem of a pass from before the last reset.
pub(super) fn of_an_earlier_epoch() -> Problem {
    Problem::new(Code::PassRefused, "the pass belongs to an epoch that has ended")
}

impl Edge {
    async fn validated(
        &self,
        seen: &Seen,
        id: EntryId,
        question: &Question,
    ) -> Result<Validated, Unanswered> {
        let check = self.check(seen, id, question)?;
        self.ask_line(seen, id, || self.line.validate(&seen.queue, id, check))
            .await
    }

    /// Verifies the visitor and the pass that the request presents, and builds the validation that the line
    /// runs.
    fn check(&self, seen: &Seen, id: EntryId, question: &Question) -> Result<Check, Problem> {
        if let Some(visitor) = &question.visitor
            && !is_owner(&seen.ids, id, visitor)?
        {
            return Err(mismatch());
        }
        let (mut visit, mut let_in_until_ms) = (question.visit, None);
        if let Some(pass) = &question.pass {
            let claims = self.keys.signer.verify(pass, &seen.queue, id, seen.now_ms())?;
            let configuration = &seen.view.configuration;
            if claims.epoch < configuration.min_epoch {
                return Err(of_an_earlier_epoch());
            }
            let_in_until_ms = (claims.epoch < configuration.epoch).then_some(claims.exp * 1_000);
            let of_pass = Visit::new(u64::from(claims.visit));
            if visit.is_some() && visit != of_pass {
                return Err(Problem::new(
                    Code::PassRefused,
                    "the pass belongs to another visit",
                ));
            }
            visit = of_pass;
        }
        Ok(Check {
            visit,
            // The line knows only the token. It may claim the entry only for a named visitor; otherwise any
            // caller that found a token would be let in.
            claims: question.visitor.is_some(),
            consumes: question.consume,
            let_in_until_ms,
        })
    }
}
