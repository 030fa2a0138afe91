//! A cache in front of the API: it answers a crowd of readers, and it never keeps the answer to a visitor.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::Request,
    middleware::{Next, from_fn},
};
use futures_util::future::join_all;
use reqwest::{Client, Response, header};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use uuid::Uuid;
use vestibule_tests::{
    caching_proxy::CachingProxy,
    in_process::{InProcessApi, QUEUE, entry_path},
    waiting::poll_until,
};

const READERS: usize = 200;
/// How long caches may keep the public document.
const MAX_AGE: Duration = Duration::from_secs(2);

/// Counts the requests that reach the API, by method and path.
#[derive(Debug, Clone, Default)]
struct RequestCounter(Arc<Mutex<BTreeMap<String, usize>>>);

impl RequestCounter {
    fn add(&self, request: &Request) {
        let route = format!("{} {}", request.method(), request.uri().path());
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(route).or_default() += 1;
    }

    fn count(&self, method: &str, path: &str) -> usize {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .get(&format!("{method} {path}"))
            .copied()
            .unwrap_or_default()
    }
}

/// An API with a cache in front.
struct Scene {
    requests: RequestCounter,
    proxy: CachingProxy,
    http: Client,
    api: InProcessApi,
}

impl Scene {
    async fn start() -> Self {
        let api = InProcessApi::start(json!({ "capacity": 1, "batch": 1 })).await;
        let requests = RequestCounter::default();
        let proxy = CachingProxy::start(listen(api.router.clone(), requests.clone()).await);
        Self {
            requests,
            proxy,
            http: Client::new(),
            api,
        }
    }

    async fn read(&self, path: &str) -> Response {
        self.http
            .get(self.proxy.url(path))
            .send()
            .await
            .expect("an answer")
    }

    async fn enter(&self, visitor: &str) -> Response {
        let request = self.http.post(self.proxy.url(&entries_path())).json(&json!({}));
        let answer = request.header("X-Visitor-Id", visitor).send().await;
        answer.expect("an answer")
    }
}

async fn listen(router: Router, requests: RequestCounter) -> SocketAddr {
    let counted = router.layer(from_fn(move |request: Request, next: Next| {
        requests.add(&request);
        next.run(request)
    }));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, counted).await });
    address
}

fn document_path() -> String {
    format!("/queues/{QUEUE}")
}

fn entries_path() -> String {
    format!("/queues/{QUEUE}/entries")
}

/// How often the cache may read the document since then: twice, and on a slow machine once more for each time that the
/// document ended meanwhile.
fn count_renewals_max(since: Instant) -> usize {
    let ended = since.elapsed().as_secs() / MAX_AGE.as_secs();
    2 + usize::try_from(ended).expect("a few")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_of_readers_causes_few_origin_requests() {
    let scene = Scene::start().await;
    let started = Instant::now();
    let readers = (0..READERS).map(|reader| {
        let scene = &scene;
        async move {
            // Half of them arrive while the first document is fetched, the others later.
            tokio::time::sleep(Duration::from_millis(if reader % 2 == 0 { 0 } else { 500 })).await;
            // The name of another queue in the query string, to be sure that it does not count.
            let answer = scene.read(&format!("{}?reader={reader}", document_path())).await;
            assert_eq!(answer.status(), 200);
            answer.json::<Value>().await.expect("JSON")
        }
    });
    let documents = join_all(readers).await;
    let origin_requests_max = count_renewals_max(started);
    for document in &documents {
        assert_eq!(document["queue"], QUEUE);
    }
    let reached_origin = scene.requests.count("GET", &document_path());
    assert!(
        (1..=origin_requests_max).contains(&reached_origin),
        "{READERS} readers caused {reached_origin} requests to the origin"
    );
}

/// A page that names a wrong queue is open in as many browsers as a right one.
#[tokio::test(flavor = "multi_thread")]
async fn readers_of_an_absent_queue_cause_few_origin_requests() {
    let scene = Scene::start().await;
    let path = "/queues/TIMEDEAL:404";
    let started = Instant::now();
    let answers = join_all((0..READERS).map(|_| scene.read(path))).await;
    let origin_requests_max = count_renewals_max(started);
    for answer in answers {
        assert_eq!(answer.status(), 404);
        let problem: Value = answer.json().await.expect("JSON");
        assert_eq!(problem["code"], "unknown-queue");
    }
    let reached_origin = scene.requests.count("GET", path);
    assert!(
        (1..=origin_requests_max).contains(&reached_origin),
        "{READERS} readers caused {reached_origin} requests to the origin"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_renewed_after_its_time() {
    let scene = Scene::start().await;
    let first: Value = scene.read(&document_path()).await.json().await.expect("JSON");
    assert_eq!(first["waiting"], 0);
    for _ in 0..2 {
        scene.enter(&Uuid::new_v4().to_string()).await;
    }
    let until = Instant::now() + 5 * MAX_AGE;
    loop {
        scene.api.drop_shared_view().await;
        let document: Value = scene.read(&document_path()).await.json().await.expect("JSON");
        if document["waiting"] == 1 {
            break;
        }
        assert!(Instant::now() < until, "the cache still answers {document}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // The log of the proxy has what the origin counts, also the renewals in the background.
    let counts = || {
        let logged = scene.proxy.origin_requests();
        let documents = logged.iter().filter(|request| request.path == document_path());
        let counted = scene.requests.count("GET", &document_path());
        let entered = scene.requests.count("POST", &entries_path());
        (documents.count(), logged.len(), counted, counted + entered)
    };
    poll_until(
        MAX_AGE,
        async || counts(),
        |(documents, all, counted, all_counted)| *counted >= 2 && documents == counted && all == all_counted,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_a_visitor_are_never_cached() {
    let scene = Scene::start().await;
    let (first, second) = (Uuid::new_v4().to_string(), Uuid::new_v4().to_string());
    let mut tokens = Vec::new();
    for (visitor, status) in [(&first, 201), (&second, 201), (&first, 200)] {
        let answer = scene.enter(visitor).await;
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-store");
        assert!(!answer.headers().contains_key("x-cache"));
        let entry: Value = answer.json().await.expect("JSON");
        tokens.push(entry["token"].as_str().expect("a token").to_owned());
    }
    assert_ne!(tokens[0], tokens[1], "a visitor got the place of another one");
    assert_eq!(tokens[0], tokens[2]);
    assert_eq!(scene.requests.count("POST", &entries_path()), 3);

    for _ in 0..3 {
        assert_eq!(scene.read(&entry_path(&tokens[1])).await.status(), 200);
    }
    assert_eq!(scene.requests.count("GET", &entry_path(&tokens[1])), 3);
}
