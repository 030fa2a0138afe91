//! `POST /`: leads a visitor from the page, which needs JavaScript, to the pages that do not. The page has no other way:
//! it is one file for all queues, and only a form without an address sends the query of the page along.

use axum::{
    extract::Query,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use vestibule_domain::{id::QueueId, uri::percent_encode};

use crate::{problem::Problem, who::page_origin::has_viewer_host};

/// The queue of a page without the parameter `queue`, as in its script.
const DEFAULT_QUEUE: &str = "demo:1";

/// Redirects to the page from which the visitor enters. It needs no state, so the local runner serves it for each folder.
///
/// # Errors
/// The problem `invalid-field` if the query does not name a queue as a queue id.
pub async fn continue_without_javascript(uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    let Query(parameters) = Query::<Vec<(String, String)>>::try_from_uri(&uri)
        .map_err(|_| Problem::invalid_field("query", "must be name=value pairs"))?;
    let find = |wanted: &str| parameters.iter().find(|(name, _)| name == wanted);
    let queue: QueueId = find("queue").map_or(DEFAULT_QUEUE, |(_, queue)| queue).parse()?;
    let carried = ["return", "lang"].into_iter().filter_map(find);
    let carried: Vec<_> = carried
        .map(|(name, value)| format!("{name}={}", percent_encode(value)))
        .collect();
    let mark = if carried.is_empty() { "" } else { "?" };
    // A distribution serves the page of each folder by the one of the API, and has no stage in its paths. Elsewhere the
    // reference is relative.
    let root = if has_viewer_host(&headers) {
        "/".to_owned()
    } else {
        "../".repeat(uri.path().matches('/').count().saturating_sub(1))
    };
    let location = format!("{root}queues/{queue}/entries{mark}{}", carried.join("&"));
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn location(path: &'static str, viewer_host: Option<&str>) -> String {
        let mut headers = HeaderMap::new();
        if let Some(host) = viewer_host {
            headers.insert("x-vestibule-host", host.parse().expect("a header value"));
        }
        let response = continue_without_javascript(path.parse().expect("a path"), headers).await;
        let response = response.expect("a queue");
        response.headers()[header::LOCATION]
            .to_str()
            .expect("text")
            .to_owned()
    }

    #[tokio::test]
    async fn the_queue_of_the_page_and_its_parameters_go_along() {
        for (page, expected) in [
            ("/", "queues/demo:1/entries"),
            ("/?queue=a:1&other=x", "queues/a:1/entries"),
            (
                "/?queue=a&return=%2Fx%3Fy&lang=ko",
                "queues/a/entries?return=%2Fx%3Fy&lang=ko",
            ),
            ("/shop/?queue=a", "../queues/a/entries"),
        ] {
            assert_eq!(location(page, None).await, expected, "{page}");
        }
        let behind_distribution = location("/?queue=a", Some("wait.example")).await;
        assert_eq!(behind_distribution, "/queues/a/entries");
    }

    #[tokio::test]
    async fn a_text_that_is_no_queue_is_refused() {
        let page = Uri::from_static("/?queue=%2F%2Fevil.example");
        let refused = continue_without_javascript(page, HeaderMap::new()).await;
        assert!(refused.is_err());
    }
}
