//! What each request may ask of the line and the table, compared with `docs/request-costs.md`: every route, at an entry in
//! every state, from every kind of caller. `RECORD_REQUEST_COSTS=yes make test-one SUITE=http` writes the table anew.

mod cost;
mod scene;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fmt, fs,
    path::PathBuf,
    time::Instant,
};

use axum::Router;
use serde_json::json;
use uuid::Uuid;
use vestibule_domain::id::EntryId;
use vestibule_tests::in_process::{ApiRequest, InProcessApi, QUEUE, entry_path, local_config, send_to};

use self::{
    cost::{Cost, Meter},
    scene::{Entry, Scene},
};
use super::{
    enter_and_expect_created, new_visitor_id,
    tickets::{TicketScene, with_ticket},
};

super::cases![
    no_request_costs_more_than_the_table_says,
    a_thousand_requests_for_an_ended_entry_write_at_most_once,
    one_visitor_has_a_limit_on_every_route,
    a_request_that_is_too_large_is_refused_before_it_is_read,
];

/// How many requests of one visitor a process answers at once. Two more come each second.
const REQUESTS_AT_ONCE: u64 = 30;
/// The first words of the table's header.
const TABLE: &str = "| request |";

/// A validation that consumes the entry once, however often it is sent.
const CONSUME: &str = "POST …/validate with `consume` and `use`";

/// Who sends a request about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    /// Its visitor, who proves that.
    Visitor,
    /// A caller who has its token and nothing else.
    TokenAlone,
    /// A caller with an invented visitor id.
    Invented,
    /// The protected service.
    Service,
}

impl Caller {
    fn shown(self) -> &'static str {
        match self {
            Self::Visitor => "its visitor",
            Self::TokenAlone => "token alone",
            Self::Invented => "invented id",
            Self::Service => "service",
        }
    }
}

/// The requests about an entry: how they are shown, and who sends them.
const REQUESTS: [(&str, &[Caller]); 8] = [
    (
        "GET …/{token}",
        &[Caller::Visitor, Caller::TokenAlone, Caller::Invented],
    ),
    ("POST …/entries", &[Caller::Visitor]),
    (
        "POST …/claim",
        &[Caller::Visitor, Caller::TokenAlone, Caller::Invented],
    ),
    (
        "POST …/extend",
        &[Caller::Visitor, Caller::TokenAlone, Caller::Invented],
    ),
    (
        "DELETE …/{token}",
        &[Caller::Visitor, Caller::TokenAlone, Caller::Invented],
    ),
    ("POST …/validate", &[Caller::Service]),
    (CONSUME, &[Caller::Service]),
    ("POST …/complete", &[Caller::Service]),
];

fn build_request(shown: &str, caller: Caller, scene: &Scene) -> ApiRequest {
    let path = entry_path(&scene.guest.token);
    let request = match shown {
        "GET …/{token}" => ApiRequest::get(path),
        "POST …/entries" => ApiRequest::enter(),
        "DELETE …/{token}" => ApiRequest::delete(path),
        CONSUME => ApiRequest::post(format!("{path}/validate")),
        other => {
            let route = other.rsplit('/').next().expect("a route");
            ApiRequest::post(format!("{path}/{route}"))
        }
    };
    match caller {
        Caller::Visitor => request.visitor(&scene.guest.id),
        Caller::TokenAlone => request,
        Caller::Invented => request.visitor(&new_visitor_id()),
        Caller::Service if shown == CONSUME => {
            request.json(&json!({ "visitor": scene.guest.id, "consume": true, "use": Uuid::from_u128(7) }))
        }
        Caller::Service => request.json(&json!({ "visitor": scene.guest.id })),
    }
}

async fn no_request_costs_more_than_the_table_says() {
    let mut rows = Vec::new();
    for (shown, callers) in REQUESTS {
        for caller in callers {
            // One row for all entries at which the request costs the same.
            let mut entries_by_row = BTreeMap::<_, Vec<_>>::new();
            for entry in Entry::ALL {
                let scene = Scene::start(entry).await;
                let request = || build_request(shown, *caller, &scene);
                let row = Row::measure(&scene.api, &[scene.id()], request).await;
                entries_by_row
                    .entry(row.to_string())
                    .or_default()
                    .push(entry.shown());
            }
            for (row, entries) in entries_by_row {
                let entries = if entries.len() == Entry::ALL.len() {
                    "any".to_owned()
                } else {
                    entries.join("; ")
                };
                rows.push(format!("| {shown} | {entries} | {} | {row} |", caller.shown()));
            }
        }
    }
    rows.extend(rows_without_an_entry().await);
    compare_with_the_table(&rows);
}

/// The rows of requests that are about no entry, and of those who would enter.
async fn rows_without_an_entry() -> Vec<String> {
    let mut rows = Vec::new();
    let api = Scene::start(Entry::Waiting).await.api;
    for (shown, path) in [
        ("GET …/queues/{queue}", format!("/queues/{QUEUE}")),
        ("GET …/jwks.json", "/.well-known/jwks.json".to_owned()),
        ("GET …/entries", format!("/queues/{QUEUE}/entries")),
    ] {
        let row = Row::measure(&api, &[], || ApiRequest::get(&path)).await;
        rows.push(row.show(shown, "–", "any caller"));
    }
    let load = || ApiRequest::post(format!("/queues/{QUEUE}/load")).json(&json!({ "tps": 0 }));
    let row = Row::measure(&api, &[], load).await;
    rows.push(row.show("POST …/load", "–", "service"));
    let row = Row::measure(&api, &[], || ApiRequest::enter().visitor(&new_visitor_id())).await;
    rows.push(row.show("POST …/entries", "none", "invented id"));
    let row = Row::measure(&api, &[], ApiRequest::enter).await;
    rows.push(row.show("POST …/entries", "none", "nothing"));

    for visitors in ["known", "ticket"] {
        let scene = TicketScene::start(json!({ "visitors": visitors })).await;
        let shown = format!("POST …/entries, `visitors` `{visitors}`");
        let (ticket, expired) = (
            scene.ticket("ada"),
            scene.shop.sign(&scene.claims_with(&json!({ "exp": 1 }))),
        );
        let requests: [(_, &dyn Fn() -> ApiRequest); 4] = [
            ("nothing", &ApiRequest::enter),
            ("invented id", &|| ApiRequest::enter().visitor(&new_visitor_id())),
            ("ticket", &|| with_ticket(&ticket)),
            ("expired ticket", &|| with_ticket(&expired)),
        ];
        for (caller, request) in requests {
            let row = Row::measure(&scene.api, &[], request).await;
            rows.push(row.show(&shown, "none", caller));
        }
    }
    for (shown, queue) in [("unknown queue", "none"), ("deleted queue", QUEUE)] {
        let scene = Scene::start(Entry::Waiting).await;
        if queue == QUEUE {
            scene.delete_queue().await;
        }
        let (id, token) = (&scene.guest.id, &scene.guest.token);
        let requests: [(_, &dyn Fn() -> ApiRequest); 3] = [
            ("GET …/queues/{queue}", &|| {
                ApiRequest::get(format!("/queues/{queue}"))
            }),
            ("POST …/entries", &|| {
                ApiRequest::post(format!("/queues/{queue}/entries")).visitor(&new_visitor_id())
            }),
            ("GET …/{token}", &|| {
                ApiRequest::get(format!("/queues/{queue}/entries/{token}")).visitor(id)
            }),
        ];
        for (request, build) in requests {
            let row = Row::measure_cold(&scene.api, build).await;
            rows.push(row.show(request, shown, "any caller"));
        }
    }
    rows
}

/// What a request costs, and what the same one costs right after it.
struct Row {
    status: u16,
    first: Cost,
    again: Cost,
}

impl Row {
    /// Measures a request of a process that has the queue in its cache.
    async fn measure(api: &InProcessApi, ids: &[EntryId], request: impl Fn() -> ApiRequest) -> Self {
        Self::measure_with(api, Meter::of(api, ids).await, &api.router, request).await
    }

    /// Measures a request of a process that has not served the queue yet, with what it asks about the queue.
    async fn measure_cold(api: &InProcessApi, request: impl Fn() -> ApiRequest) -> Self {
        let router = api.start_second_process(local_config());
        let meter = Meter::of(api, &[]).await.with_views();
        Self::measure_with(api, meter, &router, request).await
    }

    async fn measure_with(
        api: &InProcessApi,
        mut meter: Meter,
        router: &Router,
        request: impl Fn() -> ApiRequest,
    ) -> Self {
        let status = send_to(router, request()).await.status.as_u16();
        let first = meter.read(api).await;
        send_to(router, request()).await;
        let again = meter.read(api).await;
        Self { status, first, again }
    }

    fn show(&self, request: &str, entry: &str, caller: &str) -> String {
        format!("| {request} | {entry} | {caller} | {self} |")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, first, again } = self;
        write!(f, "{status} | {first} | {again}")
    }
}

fn compare_with_the_table(rows: &[String]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/request-costs.md");
    let page = fs::read_to_string(&path).expect("the page");
    let at = page.find(TABLE).expect("a table");
    let header_end = page[at..].match_indices('\n').nth(1).expect("two lines").0 + at + 1;
    if env::var("RECORD_REQUEST_COSTS").is_ok_and(|record| record == "yes") {
        let recorded = format!("{}{}\n", &page[..header_end], rows.join("\n"));
        fs::write(path, recorded).expect("written");
        return;
    }
    let known: BTreeSet<_> = page[header_end..].lines().collect();
    let measured: BTreeSet<_> = rows.iter().map(String::as_str).collect();
    let grown: Vec<_> = measured.difference(&known).collect();
    let gone: Vec<_> = known.difference(&measured).collect();
    assert!(
        grown.is_empty() && gone.is_empty(),
        "requests cost something else than docs/request-costs.md says.\nmeasured: {grown:#?}\nin the page: {gone:#?}"
    );
}

async fn a_thousand_requests_for_an_ended_entry_write_at_most_once() {
    for (caller, writes_max) in [(Caller::TokenAlone, 0), (Caller::Visitor, 1)] {
        let scene = Scene::start(Entry::EndedUnwritten).await;
        let begun = Instant::now();
        let mut meter = Meter::of(&scene.api, &[]).await;
        for _ in 0..1_000 {
            let mut request = scene.guest.status();
            if caller == Caller::TokenAlone {
                request = ApiRequest::get(entry_path(&scene.guest.token));
            }
            let answer = scene.api.send(request).await;
            assert!([410, 429].contains(&answer.status.as_u16()), "{answer:?}");
        }
        let cost = meter.read(&scene.api).await;
        let seconds = begun.elapsed().as_secs() + 1;
        let reads_max = match caller {
            Caller::TokenAlone => seconds,
            _ => REQUESTS_AT_ONCE + 2 * seconds,
        };
        assert!(cost.writes() <= writes_max, "{caller:?}: {cost}");
        assert!(cost.reads() <= reads_max, "{caller:?}: {cost} in {seconds} s");
    }
}

/// A second visitor of the same queue is served all the while.
async fn one_visitor_has_a_limit_on_every_route() {
    for (shown, _) in REQUESTS
        .iter()
        .filter(|(_, callers)| callers.contains(&Caller::Visitor))
    {
        let scene = Scene::start(Entry::Active).await;
        let (other, _) = enter_and_expect_created(&scene.api).await;
        let begun = Instant::now();
        let mut served = 0;
        for _ in 0..200 {
            let answer = scene
                .api
                .send(build_request(shown, Caller::Visitor, &scene))
                .await;
            if answer.status == 429 {
                answer.expect_problem(429, "too-many-requests");
                assert!(answer.headers.contains_key("retry-after"));
            } else {
                served += 1;
            }
        }
        let most = REQUESTS_AT_ONCE + 2 * (begun.elapsed().as_secs() + 1);
        assert!(
            (REQUESTS_AT_ONCE / 2..=most).contains(&served),
            "{shown}: {served}"
        );
        scene.api.send(other.status()).await.expect_status(200);
    }
}

async fn a_request_that_is_too_large_is_refused_before_it_is_read() {
    let scene = Scene::start(Entry::Waiting).await;
    let long = "a,".repeat(10_000);
    let page = format!("/queues/{QUEUE}/entries");
    let mut meter = Meter::of(&scene.api, &[]).await;
    for request in [
        scene.guest.status().header("accept-language", &long),
        ApiRequest::enter().header("cookie", &long),
        ApiRequest::get(format!("{page}?return=/{long}")),
        ApiRequest::get(format!("/queues/{QUEUE}?{long}")),
    ] {
        let refused = scene.api.send(request).await;
        refused.expect_problem(431, "headers-too-large");
    }
    assert_eq!(meter.read(&scene.api).await.scripts(), 0);
    // A path that no shop has is not passed on.
    let html = |path: String| ApiRequest::get(path).header("accept", "text/html");
    let carried = "x".repeat(2_000);
    for (path, is_passed_on) in [(carried.clone(), true), (carried.repeat(2), false)] {
        let answer = scene.api.send(html(format!("{page}?return=/{path}"))).await;
        let html = answer
            .expect_status(200)
            .body
            .as_str()
            .expect("a page")
            .to_owned();
        assert_eq!(html.contains(&path), is_passed_on);
    }
}
