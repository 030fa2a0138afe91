//! Decides whether a visitor may call the protected API.
//!
//! The order matters. The checks without a request come first: a forged pass and another visitor's token
//! never reach the line. Only a proven visitor spends a call of the entry, so a caller who knows the token
//! alone cannot use up its calls. A call over the limit costs the line one small script.

use tracing::Span;
use vestibule_domain::{
    id::{EntryId, QueueId},
    score::Visit,
    state::EntryState,
};
use vestibule_line::CallOutcome;

use super::{credential::PresentedEntry, event::AuthorizerEvent, queue_filter::QueueFilter};
use crate::{
    Services,
    config::AuthorizerConfig,
    degraded::{AcceptedPass, QueueSource},
    entries::QueryError,
    problem::{Code, Problem},
    queue::QueueSnapshot,
    who::pass::PassError,
};

/// Answers the events of an authorizer.
#[derive(Debug)]
pub struct Authorizer {
    pub(super) services: Services,
    pub(super) config: AuthorizerConfig,
}

/// A visitor who may call the API.
pub(super) struct Admission {
    pub(super) queue: QueueId,
    pub(super) entry: EntryId,
    pub(super) visit: Visit,
    pub(super) state: EntryState,
    /// When the session ends, in Unix milliseconds. Without the line: until when the pass is accepted.
    pub(super) expires_at_ms: u64,
    /// Whether the line could not be asked.
    pub(super) degraded: bool,
}

/// Why a request is denied.
pub(super) struct Denial {
    pub(super) problem: Problem,
    /// When to try again, in seconds; 0 if trying again is of no use.
    pub(super) retry_after_seconds: u64,
    /// The queue that the visitor presented, if it protects the API.
    pub(super) queue: Option<QueueId>,
}

impl From<Problem> for Denial {
    fn from(problem: Problem) -> Self {
        let seconds = problem.retry_after_seconds(None, rand::random());
        Self {
            retry_after_seconds: seconds.unwrap_or(0),
            problem,
            queue: None,
        }
    }
}

impl Denial {
    fn too_many_calls(retry_after_ms: u64) -> Self {
        Self {
            problem: Problem::usual(Code::TooManyCalls),
            retry_after_seconds: retry_after_ms.div_ceil(1_000),
            queue: None,
        }
    }
}

impl Authorizer {
    pub(super) async fn admit(
        &self,
        event: &AuthorizerEvent,
        queues: &QueueFilter<'_>,
    ) -> Result<Admission, Denial> {
        let presented = PresentedEntry::from_event(event, queues)?;
        let span = Span::current();
        span.record("queue", tracing::field::display(&presented.queue));
        span.record("entry", tracing::field::display(presented.entry));
        let admitted = self.admit_presented(&presented).await;
        admitted.map_err(|denial| Denial {
            queue: Some(presented.queue.clone()),
            ..denial
        })
    }

    async fn admit_presented(&self, presented: &PresentedEntry) -> Result<Admission, Denial> {
        let (services, entry) = (&self.services, presented.entry);
        let source = QueueSource::read(&services.queues, &presented.queue).await?;
        let admitted = source.answer(
            async |snapshot| self.admit_by_line(&snapshot, presented).await,
            async |context| {
                let passes = &services.identity.passes;
                let accepted = context.accept_pass(&services.entries, passes, entry, &presented.request);
                Ok(Ok(Admission::from_accepted_pass(presented, &accepted.await?)))
            },
        );
        admitted.await?
    }

    /// The denial is that of a visitor who calls too often.
    async fn admit_by_line(
        &self,
        snapshot: &QueueSnapshot,
        presented: &PresentedEntry,
    ) -> Result<Result<Admission, Denial>, QueryError> {
        let Services {
            identity, entries, ..
        } = &self.services;
        let (entry, request) = (presented.entry, &presented.request);
        let verified = identity
            .verify_named_visitor(snapshot, entry, &request.named)
            .await?;
        // `validate` takes an expired pass for proof of who the visitor is. Here the pass is the key, and a key
        // ends when it says so.
        if verified.is_some_and(|pass| pass.has_expired) {
            return Err(Problem::from(PassError::Expired).into());
        }
        let handle = entries.entry(snapshot, entry);
        if let Some(limit) = self.config.limit
            && let CallOutcome::TooMany { retry_after_ms } = handle.take_call(limit).await?
        {
            return Ok(Err(Denial::too_many_calls(retry_after_ms)));
        }
        let live = handle.validate(request, verified).await?;
        Ok(Ok(Admission {
            queue: presented.queue.clone(),
            entry,
            visit: live.status.visit(),
            state: live.status.state(),
            expires_at_ms: live.session_end_ms()?,
            degraded: false,
        }))
    }
}

impl Admission {
    fn from_accepted_pass(presented: &PresentedEntry, accepted: &AcceptedPass) -> Self {
        Self {
            queue: presented.queue.clone(),
            entry: presented.entry,
            visit: accepted.visit,
            state: EntryState::Active,
            expires_at_ms: accepted.accepted_until_ms,
            degraded: true,
        }
    }
}
