//! `POST /queues/{queue}/entries`: gives the visitor a place in line.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use vestibule_domain::{entry_status::EntryStatus, id::QueueId};
use vestibule_line::{JoinKind, LeaveReason};
use vestibule_wire::EnterRequest;

use super::request::{Body, QueuePath};
use crate::{
    ApiState,
    entries::view::EntryViewInput,
    problem::Problem,
    who::{
        client_address::{AllowedWay, ClientAddress},
        entering::entering_problem,
        gateway::Gateway,
        visitor::{RawCredentials, build_visitor_cookie, read_lane_claim},
    },
};

pub(crate) async fn handle(
    State(state): State<Arc<ApiState>>,
    QueuePath(queue): QueuePath,
    _: AllowedWay,
    raw_credentials: RawCredentials,
    gateway: Gateway,
    ClientAddress(address): ClientAddress,
    Body(request): Body<EnterRequest>,
) -> Result<Response, Problem> {
    // On the heap, because it holds the state of every step that entering may need.
    let answer = Box::pin(answer(&state, &queue, raw_credentials, gateway, address, request));
    state.with_fallback_tick(&queue, answer).await
}

async fn answer(
    state: &ApiState,
    queue: &QueueId,
    raw_credentials: RawCredentials,
    gateway: Gateway,
    address: Option<IpAddr>,
    request: EnterRequest,
) -> Result<Response, Problem> {
    let snapshot = state.snapshot(queue).await?;
    let credentials = raw_credentials.resolve(&snapshot)?;
    let source = address.map(|address| snapshot.ids.source(address));
    let is_named = request.ticket.is_some() || credentials.known().is_some();
    let claimed_lane = read_lane_claim(&gateway, state.config.lane_claim.as_deref())?;
    let visitor = state
        .select_visitor(
            &snapshot,
            &credentials,
            request.ticket.as_deref(),
            claimed_lane,
            source,
        )
        .await?;
    let id = visitor.id;
    state.keep_open(&snapshot, id).await?;
    let mut entered = state.enter_line(&snapshot, &visitor).await?;
    if entered.is_none() {
        // The line still listed a visit that had ended, because it had lost the end. That visit is
        // removed now, so this call begins a new one.
        entered = state.enter_line(&snapshot, &visitor).await?;
    }
    let (kind, place) =
        entered.ok_or_else(|| Problem::recovering("other requests keep changing the entry"))?;
    let is_new_visit = match kind {
        JoinKind::NewVisit => !place.is_restored,
        JoinKind::TookBack => true,
        JoinKind::Kept | JoinKind::Requeued => false,
    };
    if is_new_visit && !visitor.may_begin {
        // The visit to which the visitor returned has ended meanwhile. The visitor has no pass of the new visit, so
        // no slot need be held.
        let visit = Some(place.status.visit());
        let reason = match place.status {
            EntryStatus::Active { .. } => LeaveReason::Complete,
            _ => LeaveReason::Leave,
        };
        state.end_visit(&snapshot, id, visit, reason).await?;
        return Err(if is_named {
            // The visit was anonymous. The next request enters under the name.
            Problem::recovering("the visit ended while its visitor entered")
        } else {
            entering_problem(&snapshot)
        });
    }
    if let Some(given_up) = visitor.given_up {
        // After entering, so that a request that is refused or killed costs no place.
        state
            .end_visit(&snapshot, given_up, None, LeaveReason::Leave)
            .await?;
    }
    state.record_entry(queue, id);
    let lane = state.read_lane_of_far_entry(&snapshot, place.status).await;
    let mut body = state.entry_body(EntryViewInput {
        snapshot: &snapshot,
        id,
        status: place.status,
        lane,
        has_entered: true,
        record: place.record,
        durable: place.durable,
        is_owner_proven: true,
    })?;
    if let Some(secret) = &visitor.secret {
        body = body.with_visitor(secret.reveal());
    }
    if let Some(generated) = &visitor.generated {
        body = body.with_visitor(generated.reveal());
    }
    let status = if is_new_visit {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let mut response = body.answer(status);
    let headers = response.headers_mut();
    // Relative to the address that the client used. What stands before the function's own path there is not known to it: a
    // stage, the base path of a domain, or nothing behind a distribution, which leaves both out.
    let location = HeaderValue::try_from(format!("entries/{id}"));
    headers.insert(header::LOCATION, location.expect("an id is ASCII"));
    if let Some(generated) = &visitor.generated {
        headers.append(
            header::SET_COOKIE,
            build_visitor_cookie(generated, state.config.local),
        );
    }
    Ok(response)
}
