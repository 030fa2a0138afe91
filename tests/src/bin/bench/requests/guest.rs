//! A visitor who sends each request when the measurement says so, and follows no rules of a client.

use vestibule_crowd::{
    door::{Caller, Door as _, ProtectedService as _},
    http::{HttpClient, HttpDoor, Proof},
    rules::Refusal,
};
use vestibule_domain::state::EntryState;
use vestibule_wire::Entry;

use crate::BenchResult;

/// A visitor who is in the queue.
#[derive(Clone)]
pub(super) struct Guest {
    caller: Caller,
    entry: Entry,
}

/// A kind of request about an entry. Each must be answered as it is while all goes well.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A poll, as long as the visitor waits.
    Poll,
    Claim,
    Validate,
    Complete,
}

/// The API of the queue at this URL, over one connection. The protected service proves itself so.
pub(super) fn open_door(queue_url: String, proof: impl Proof + 'static) -> BenchResult<HttpDoor> {
    let door = HttpDoor::new(HttpClient::new(1)?, queue_url.clone());
    Ok(door.with_service(queue_url, proof))
}

impl Guest {
    pub(super) async fn enter(door: &HttpDoor) -> BenchResult<Self> {
        let caller = Caller::anonymous();
        let entry = door.enter(&caller).await.map_err(say("enter"))?;
        Ok(Self { caller, entry })
    }

    pub(super) async fn send(&self, door: &HttpDoor, kind: Kind) -> BenchResult {
        let Self { caller, entry } = self;
        let (token, visit) = (&entry.token, entry.visit);
        match kind {
            Kind::Poll => expect_state(EntryState::Waiting, self.poll(door).await?),
            Kind::Claim => {
                let claimed = door.claim(caller, token).await.map_err(say("claim"))?;
                expect_state(EntryState::Active, claimed.state)
            }
            Kind::Validate => Ok(door
                .validate(caller, token, visit)
                .await
                .map_err(say("validate"))?),
            Kind::Complete => Ok(door.complete(token, visit).await.map_err(say("complete"))?),
        }
    }

    pub(super) async fn poll(&self, door: &HttpDoor) -> BenchResult<EntryState> {
        let polled = door.status(&self.caller, &self.entry.token, 0).await;
        Ok(polled.map_err(say("poll"))?.state)
    }
}

fn expect_state(expected: EntryState, state: EntryState) -> BenchResult {
    if state == expected {
        Ok(())
    } else {
        Err(format!("the entry is {state:?} instead of {expected:?}").into())
    }
}

/// Says which request was refused.
pub(super) fn say(request: &str) -> impl Fn(Refusal) -> String {
    move |refusal| format!("{request} was answered {refusal:?}")
}
