//! `POST /queues/{queue}/entries`: gives the visitor a place in line.

use std::net::IpAddr;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use vestibule_domain::id::QueueId;
use vestibule_wire::EnterRequest;

use super::request::{Body, QueuePath};
use crate::{
    Services,
    entries::view::{EntryBody, EntryReader},
    problem::Problem,
    who::{
        client_address::{AllowedWay, ClientAddress},
        gateway::Gateway,
        visitor::{RawCredentials, build_visitor_cookie},
    },
};

pub(super) async fn handle(
    State(services): State<Services>,
    QueuePath(queue): QueuePath,
    _: AllowedWay,
    raw_credentials: RawCredentials,
    gateway: Gateway,
    ClientAddress(address): ClientAddress,
    Body(request): Body<EnterRequest>,
) -> Result<Response, Problem> {
    // On the heap, because it holds the state of every step that entering may need.
    let answer = Box::pin(answer(
        &services,
        &queue,
        raw_credentials,
        gateway,
        address,
        request,
    ));
    services.entries.with_fallback_tick(&queue, answer).await
}

async fn answer(
    services: &Services,
    queue: &QueueId,
    raw_credentials: RawCredentials,
    gateway: Gateway,
    address: Option<IpAddr>,
    request: EnterRequest,
) -> Result<Response, Problem> {
    let Services {
        identity, entries, ..
    } = services;
    let snapshot = services.queues.get(queue).await?;
    let ticket = request.ticket.as_deref();
    let identified = identity.identify_entering(&snapshot, raw_credentials, &gateway, address, ticket)?;
    let (visitor, place) = entries.enter(&snapshot, &identified).await?;
    let mut body = EntryBody::build(identity, &snapshot, visitor.id, place.live, EntryReader::Entering)?;
    if let Some(secret) = &visitor.secret {
        body = body.with_visitor(secret.reveal());
    }
    if let Some(generated) = &visitor.generated {
        body = body.with_visitor(generated.reveal());
    }
    let status = if place.is_new_visit {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let mut response = body.answer(status);
    let headers = response.headers_mut();
    // Relative to the address that the client used. The function does not know what precedes its own path there: a
    // stage, the base path of a domain, or nothing behind a distribution, which leaves both out.
    let location = HeaderValue::try_from(format!("entries/{}", visitor.id));
    headers.insert(header::LOCATION, location.expect("an id is ASCII"));
    if let Some(generated) = &visitor.generated {
        headers.append(
            header::SET_COOKIE,
            build_visitor_cookie(generated, services.config.local),
        );
    }
    Ok(response)
}
