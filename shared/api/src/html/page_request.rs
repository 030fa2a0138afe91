//! Which requests pages answer, and what a page needs of its request.

use axum::{
    extract::{MatchedPath, Query, Request},
    http::{HeaderMap, Method, Uri, header},
};
use vestibule_domain::uri::percent_encode;

use super::{
    accept::{self, prefers_html, read_languages},
    words::{Language, Words},
};

/// The parameters of the query that pages pass on to each other: the visitor's path in the shop, and the language that
/// the link names.
const CARRIED: [&str; 2] = ["return", "lang"];
/// The longest value that they pass on, in bytes.
const CARRIED_BYTES_MAX: usize = 2_048;
const FORM: &str = "application/x-www-form-urlencoded";

/// What a request does, as far as pages answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Start,
    Enter,
    Entry,
    Claim,
}

impl Route {
    fn of(request: &Request) -> Option<Self> {
        let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        match (request.method(), path?) {
            (&Method::GET, "/queues/{queue}/entries") => Some(Self::Start),
            (&Method::POST, "/queues/{queue}/entries") => Some(Self::Enter),
            (&Method::GET, "/queues/{queue}/entries/{token}") => Some(Self::Entry),
            (&Method::POST, "/queues/{queue}/entries/{token}/claim") => Some(Self::Claim),
            _ => None,
        }
    }

    /// Whether a form sends the request.
    pub(super) fn is_form(self) -> bool {
        matches!(self, Self::Enter | Self::Claim)
    }

    /// What leads from the path of the request to that of the queue. Pages refer to each other by relative references,
    /// so no stage, base path or proxy matters.
    fn path_to_queue(self) -> &'static str {
        match self {
            Self::Start | Self::Enter => "",
            Self::Entry => "../",
            Self::Claim => "../../",
        }
    }
}

/// Whether the client gets HTML or JSON, as it prefers.
pub(super) fn is_negotiated(request: &Request) -> bool {
    matches!(Route::of(request), Some(Route::Entry | Route::Start))
}

/// The route of a form that a browser sends. A client that sends this content type and does not ask for HTML did so by
/// mistake: it gets a problem, as before.
pub(super) fn form_route(request: &Request) -> Option<Route> {
    let content_type = request.headers().get(header::CONTENT_TYPE)?.to_str().ok()?;
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    Route::of(request).filter(|route| {
        route.is_form() && essence.eq_ignore_ascii_case(FORM) && prefers_html(request.headers())
    })
}

/// The tag of the language in which the visitor reads pages: the one that the link names or else the browser prefers.
pub(crate) fn choose_language(uri: &Uri, headers: &HeaderMap) -> &'static str {
    choose_for(&read_carried(uri), headers)
}

/// The parameters of the query that pages pass on.
fn read_carried(uri: &Uri) -> Vec<(String, String)> {
    let parameters = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let mut parameters = parameters.map(|Query(pairs)| pairs).unwrap_or_default();
    parameters.retain(|(name, value)| CARRIED.contains(&name.as_str()) && value.len() <= CARRIED_BYTES_MAX);
    parameters
}

fn choose_for(parameters: &[(String, String)], headers: &HeaderMap) -> &'static str {
    accept::choose_language(linked_language(parameters), &read_languages(headers))
}

fn linked_language(parameters: &[(String, String)]) -> Option<&str> {
    let linked = parameters.iter().find(|(name, _)| name == "lang");
    linked.map(|(_, tag)| tag.as_str())
}

/// A request that a page answers.
pub(crate) struct PageRequest {
    pub(super) route: Route,
    /// Whether problems are pages, too. Only the page to start from is one for every client.
    pub(super) shows_problems: bool,
    /// The visitor's languages, the preferred ones first.
    pub(super) languages: Vec<String>,
    pub(super) words: Words,
    /// The token in the path.
    token: Option<String>,
    /// The parameters of the query, by name and value.
    parameters: Vec<(String, String)>,
}

impl PageRequest {
    /// `None` if the request gets JSON.
    pub(super) fn read(request: &Request) -> Option<Self> {
        let shows_problems = prefers_html(request.headers());
        let route = match Route::of(request)? {
            Route::Start => Route::Start,
            Route::Entry if shows_problems => Route::Entry,
            _ => form_route(request)?,
        };
        let parameters = read_carried(request.uri());
        let language = choose_for(&parameters, request.headers());
        let named = linked_language(&parameters).into_iter().chain([language]);
        let mut languages: Vec<_> = named.map(str::to_owned).collect();
        languages.extend(read_languages(request.headers()));
        let mut segments = request.uri().path().rsplit('/');
        let token = match route {
            Route::Start | Route::Enter => None,
            Route::Entry => segments.next(),
            Route::Claim => segments.nth(1),
        };
        Some(Self {
            route,
            shows_problems,
            words: Words::new(Language::new(language)),
            languages,
            token: token.map(str::to_owned),
            parameters,
        })
    }

    /// The visitor's path in the shop, if the link named one.
    pub(super) fn return_path(&self) -> &str {
        let named = self.parameters.iter().find(|(name, _)| name == "return");
        named.map_or("", |(_, path)| path)
    }

    /// The reference to the page to start from, and to which the form to enter goes.
    pub(super) fn start_reference(&self) -> String {
        self.reference("entries")
    }

    pub(super) fn entry_reference(&self, token: &str) -> String {
        self.reference(&format!("entries/{token}"))
    }

    pub(super) fn claim_reference(&self, token: &str) -> String {
        self.reference(&format!("entries/{token}/claim"))
    }

    /// The reference to the page that shows what became of this request. A page that a `GET` gave is its own.
    pub(super) fn next_reference(&self) -> String {
        match (self.route.is_form(), &self.token) {
            (false, _) => String::new(),
            (true, Some(token)) => self.entry_reference(token),
            (true, None) => self.start_reference(),
        }
    }

    fn reference(&self, below: &str) -> String {
        let pair = |(name, value): &(String, String)| format!("{name}={}", percent_encode(value));
        let query: Vec<_> = self.parameters.iter().map(pair).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{below}{mark}{}", self.route.path_to_queue(), query.join("&"))
    }
}
