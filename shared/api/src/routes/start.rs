//! `GET /queues/{queue}/entries`: the page from which a visitor without JavaScript enters. It sets the cookie that the
//! form needs, and changes nothing else.

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use uuid::Uuid;
use vestibule_domain::{id::Visitor, settings::Visitors};

use super::{public_document, request::QueuePath};
use crate::{
    Services,
    config::VisitorRoutes,
    problem::{Code, Problem},
    who::{
        entering::entering_problem,
        visitor::{build_visitor_cookie, has_visitor_cookie},
    },
};

/// Answers with the public document, from which the layer makes the page. A form carries neither a ticket nor a login, so
/// where one is needed the answer is the problem that entering would have.
pub(super) async fn handle(
    State(services): State<Services>,
    queue: QueuePath,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let is_local = services.config.local;
    if services.config.visitor_routes != VisitorRoutes::Open {
        let detail = "a form has no login, which the requests of visitors need here";
        return Err(Problem::new(Code::IdentityMissing, detail));
    }
    let snapshot = services.queues.get(&queue.0).await?;
    if snapshot.settings().visitors != Visitors::Anyone {
        return Err(entering_problem(&snapshot));
    }
    let mut response = public_document::handle(State(services), queue).await?;
    let answer = response.headers_mut();
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if !has_visitor_cookie(&headers, is_local) {
        let visitor = Visitor::from_random(Uuid::new_v4());
        answer.append(header::SET_COOKIE, build_visitor_cookie(&visitor, is_local));
    }
    Ok(response)
}
