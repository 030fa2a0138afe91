//! `POST /queues/{queue}/entries/{token}/validate`: may this visitor act? The protected service asks, and names the
//! visitor or shows the pass.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use serde::Serialize;

use super::{
    Edge,
    code::Code,
    entry::json,
    gateway::Gateway,
    problem::Problem,
    request::{AtEntry, Body, Fields},
    views::Seen,
    visitor::{is_owner, mismatch},
};
use crate::{
    domain::{id::EntryId, score::Visit, standing::Standing, state::State as EntryState},
    line::{Check, Validated},
};

/// What the protected service asks.
pub(super) struct Question {
    visitor: Option<String>,
    pass: Option<String>,
    consume: bool,
    visit: Option<Visit>,
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
}

pub(super) async fn handle(
    State(edge): State<Arc<Edge>>,
    AtEntry { queue, id }: AtEntry,
    gateway: Gateway,
    Body(question): Body<Question>,
) -> Result<Response, Problem> {
    edge.service_only(&gateway)?;
    let seen = edge.seen(&queue).await?;
    let check = edge.check(&seen, id, &question)?;
    let validated = edge.ask(&seen, id, || edge.line.validate(&queue, id, check));
    let (standing, change) = match validated.await? {
        Validated::Active { standing, change } => (standing, change),
        Validated::NotYet(standing) => return Err(Problem::not_your_turn(&standing)),
        Validated::OtherVisit if question.pass.is_some() => {
            return Err(Problem::new(Code::PassRefused, "it is of another visit"));
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
        return Err(Problem::internal("the line called an entry active that is not"));
    };
    let durable = match change {
        Some(change) => Some(edge.write(&seen, &change).await?.durable),
        None => None,
    };
    let answer = Answer {
        valid: true,
        state: standing.state(),
        visit: visit.number(),
        expires_at_ms: session_end_ms,
        durable,
    };
    Ok(json(StatusCode::OK, &answer))
}

impl Edge {
    /// What to ask of the line, once whatever was presented has proven true.
    fn check(&self, seen: &Seen, id: EntryId, question: &Question) -> Result<Check, Problem> {
        if question.visitor.is_none() && question.pass.is_none() {
            return Err(Problem::field("visitor", "must be given, or a pass instead"));
        }
        if let Some(visitor) = &question.visitor
            && !is_owner(&seen.ids, id, visitor)?
        {
            return Err(mismatch());
        }
        let mut visit = question.visit;
        if let Some(pass) = &question.pass {
            let claims = self.keys.signer.verify(pass, &seen.queue, id, seen.now_ms())?;
            let of_pass = Visit::new(u64::from(claims.visit));
            if visit.is_some() && visit != of_pass {
                return Err(Problem::new(Code::PassRefused, "it is of another visit"));
            }
            visit = of_pass;
        }
        Ok(Check {
            visit,
            // The line looks at nothing but the token: it must not let in whoever found one.
            claims: question.visitor.is_some(),
            consumes: question.consume,
        })
    }
}
