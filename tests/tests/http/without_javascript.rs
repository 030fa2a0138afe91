//! Visitors whose browsers run no JavaScript: pages instead of JSON, and forms.

use serde_json::{Value, json};
use vestibule_tests::{
    api::{ApiRequest, ApiResponse, BOUND, Backend, new_visitor_id},
    tickets::{TicketIssuer, key_set},
    waiting::poll_until,
};

use crate::browser::{BROWSER, Browser, FORM, expect_page, form_path, resolve, varies_by};

crate::cases![
    a_visitor_without_javascript_goes_from_the_start_to_the_shop,
    a_page_counts_the_turns_of_all_lanes,
    a_form_of_another_site_is_refused,
    a_form_without_the_cookie_is_refused,
    a_json_client_gets_json_from_the_same_routes,
    a_page_shows_the_operators_message_as_text_in_the_visitors_language,
    a_page_says_how_a_visit_ended,
    a_page_says_what_the_queue_does,
    a_page_says_that_a_visitor_with_a_ticket_needs_a_script,
];

async fn a_visitor_without_javascript_goes_from_the_start_to_the_shop(backend: &Backend) {
    let settings = json!({ "target_url": "https://shop.example/in?pass={pass}&to={return}" });
    let (queue, active) = backend.create_full_queue(settings).await;
    let start_path = queue.path("/entries?return=%2Fitem%2F7");
    let (browser, start) = Browser::start(&queue, "en").await;
    let form = form_path(&start_path, expect_page(&start, "start"));
    assert_eq!(form, start_path, "the path in the shop goes along");
    let again = browser.open(&start_path).await;
    assert!(
        !again.headers.contains_key("set-cookie"),
        "a visitor keeps the cookie"
    );
    let stats = queue.run_command(json!({ "op": "stats" })).await;
    assert_eq!(stats["waiting"], 0, "to open a page enters no queue");

    let entered = browser.submit(&form).await;
    let entry_path = resolve(&form, entered.expect_status(303).header("location"));
    let second_click = browser.submit(&form).await;
    assert_eq!(resolve(&form, second_click.header("location")), entry_path);
    let waiting = browser.open(&entry_path).await;
    let html = expect_page(&waiting, "waiting");
    assert!(
        html.contains("data-part=\"number\">0</p>") && html.contains("Your position: 1"),
        "{html}"
    );
    let refresh: u64 = waiting.header("refresh").parse().expect("seconds");
    assert!((1..=60).contains(&refresh), "{refresh}");

    queue.complete(&active).await.expect_status(204);
    let look = async || {
        queue.run_command(json!({ "op": "promote", "count": 1 })).await;
        browser.open(&entry_path).await
    };
    let is_turn = |page: &ApiResponse| {
        page.body
            .as_str()
            .is_some_and(|html| html.contains("data-state=\"turn\""))
    };
    let turn = poll_until(BOUND, look, is_turn).await;
    let claim_path = form_path(&entry_path, expect_page(&turn, "turn"));
    let claimed = browser.submit(&claim_path).await;
    let shop = claimed.expect_status(303).header("location").to_owned();
    let (before, pass) = shop.split_once("?pass=").expect("a pass");
    let (pass, to) = pass.split_once('&').expect("a path");
    assert_eq!((before, to), ("https://shop.example/in", "to=%2Fitem%2F7"));
    let token = entry_path.split(['/', '?']).nth(4).expect("a token");
    let validate = ApiRequest::post(queue.path(&format!("/entries/{token}/validate")));
    let valid = backend
        .send_as_service(validate.json(&json!({ "pass": pass })))
        .await;
    assert_eq!(valid.expect_status(200).body["valid"], true);

    let inside = browser.open(&entry_path).await;
    assert!(
        expect_page(&inside, "in").contains("href=\"https://shop.example/in?pass="),
        "{inside:?}"
    );
    let foreign = backend
        .send(ApiRequest::get(&entry_path).header("accept", BROWSER))
        .await;
    let html = expect_page(&foreign, "in");
    assert!(!html.contains("shop.example"), "a token alone gives no pass");
    assert!(
        html.contains("needs cookies") && !foreign.headers.contains_key("refresh"),
        "the page does not know its visitor, and says so: {html}"
    );
}

async fn a_page_counts_the_turns_of_all_lanes(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({ "lane_share": 0 })).await;
    let start_path = queue.path("/entries");
    let (browser, start) = Browser::start(&queue, "en").await;
    let form = form_path(&start_path, expect_page(&start, "start"));
    let entered = browser.submit(&form).await;
    let entry_path = resolve(&form, entered.expect_status(303).header("location"));
    let (member, _) = queue.enter_and_expect_created().await;
    queue
        .run_command(json!({ "op": "lane", "token": member.token, "lane": 0 }))
        .await;
    let is_told = |page: &ApiResponse| {
        let html = expect_page(page, "waiting");
        html.contains("data-part=\"number\">1</p>") && html.contains("Your position: 2")
    };
    poll_until(BOUND, async || browser.open(&entry_path).await, is_told).await;
}

async fn a_form_of_another_site_is_refused(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({})).await;
    let (browser, _) = Browser::start(&queue, "en").await;
    let own_origin = backend.own_origin();
    let foreign_port = format!("{own_origin}1");
    for path in [queue.path("/entries"), active.path("/claim")] {
        let origins = [
            Some("https://evil.example"),
            Some("null"),
            Some(&foreign_port),
            Some(""),
            None,
        ];
        for origin in origins {
            let request = browser.request(ApiRequest::post(&path)).raw(FORM, "");
            let request = match origin {
                Some(origin) => request.header("origin", origin),
                None => request,
            };
            let refused = backend.send(request).await;
            let html = expect_page(refused.expect_status(403), "refused");
            assert!(
                html.contains("data-code=\"foreign-origin\""),
                "{origin:?}: {html}"
            );
        }
    }
    let stats = queue.run_command(json!({ "op": "stats" })).await;
    assert_eq!(stats["waiting"], 0, "no form entered");
    browser.submit(&queue.path("/entries")).await.expect_status(303);
}

async fn a_form_without_the_cookie_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let cookie = format!("{}=not-a-visitor", backend.kind.cookie_name());
    for cookie in [String::new(), cookie] {
        let browser = Browser {
            backend,
            cookie,
            languages: "en",
        };
        let refused = browser.submit(&queue.path("/entries")).await;
        let html = expect_page(refused.expect_status(403), "refused");
        assert!(html.contains("data-code=\"cookie-required\""), "{html}");
        assert!(
            html.contains("href=\"entries\""),
            "the page leads to the one that sets the cookie: {html}"
        );
    }
    let stats = queue.run_command(json!({ "op": "stats" })).await;
    assert_eq!(stats["active"], 0, "no form entered");
}

async fn a_json_client_gets_json_from_the_same_routes(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    for accept in [
        "*/*",
        "application/json",
        "application/json, text/html;q=0.9",
        "text/plain",
    ] {
        let status = ApiRequest::get(guest.path("")).header("accept", accept);
        let status = backend.send(status.visitor(&guest.id)).await;
        assert_eq!(status.expect_status(200).text("state"), "active");
        assert_eq!(status.header("content-type"), "application/json");
        assert!(
            varies_by(&status, "accept") && !status.headers.contains_key("refresh"),
            "{status:?}"
        );
        let enter = queue
            .enter_request()
            .header("accept", accept)
            .visitor(&new_visitor_id());
        backend.send(enter.json(&json!({}))).await.expect_status(201);
        // A content type that a client sent by mistake.
        let enter = queue
            .enter_request()
            .header("accept", accept)
            .visitor(&new_visitor_id());
        let refused = backend.send(enter.raw(FORM, "{}")).await;
        refused.expect_problem(415, "unsupported-media-type");
        let unknown = ApiRequest::get("/queues/nowhere/entries").header("accept", accept);
        backend.send(unknown).await.expect_problem(404, "unknown-queue");
    }
}

async fn a_page_shows_the_operators_message_as_text_in_the_visitors_language(backend: &Backend) {
    let hostile = "<script>alert(1)</script> & \"here\"";
    let message = json!({ "default": "en", "en": hostile, "ja": "再開は正午です" });
    let (queue, _) = backend.create_full_queue(json!({ "message": message })).await;
    for (languages, tag, text) in [
        (
            "it, en;q=0.5",
            "en",
            "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;here&quot;",
        ),
        ("ja-JP, en;q=0.5", "ja", "再開は正午です"),
        ("ko", "ko", "순서를 기다리고 있어요"),
        ("ar", "ar", "أنت في الطابور"),
    ] {
        let (browser, start) = Browser::start(&queue, languages).await;
        expect_page(&start, "start");
        let path = queue.path("/entries");
        let entered = browser.submit(&path).await;
        let location = resolve(&path, entered.expect_status(303).header("location"));
        let waiting = browser.open(&location).await;
        let html = expect_page(&waiting, "waiting");
        assert!(
            html.contains(&format!("<html lang=\"{tag}\"")) && html.contains(text),
            "{html}"
        );
    }
}

async fn a_page_says_how_a_visit_ended(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let open = async |path: String| {
        let request = ApiRequest::get(path).header("accept", BROWSER);
        backend.send(request).await
    };
    queue.leave(&guest).await.expect_status(204);
    let path = guest.path("");
    let left = open(path.clone()).await;
    let html = expect_page(left.expect_status(410), "left");
    assert!(html.contains("data-code=\"left\""), "{html}");
    assert_eq!(form_path(&path, html), queue.path("/entries"));
    queue.complete(&active).await.expect_status(204);
    let completed = open(active.path("")).await;
    expect_page(completed.expect_status(410), "completed");
    let unknown = queue.path("/entries/0f8fad5b-d9cb-869f-a165-70867728950e");
    let unknown = open(unknown).await;
    expect_page(unknown.expect_status(404), "reset");
    let nowhere = open("/queues/nowhere/entries".to_owned()).await;
    expect_page(nowhere.expect_status(404), "refused");
}

async fn a_page_says_what_the_queue_does(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({})).await;
    let path = queue.path("/entries");
    let (browser, _) = Browser::start(&queue, "en").await;
    let entered = browser.submit(&path).await;
    let entry_path = resolve(&path, entered.expect_status(303).header("location"));
    let show = async |path: &str, state: &str| {
        let has_state = |page: &ApiResponse| {
            page.body
                .to_string()
                .contains(&format!("data-state=\\\"{state}\\\""))
        };
        poll_until(BOUND, async || browser.open(path).await, has_state).await
    };
    let order = async |mut command: Value| {
        let described = queue.run_command(json!({ "op": "describe" })).await;
        command["epoch"] = described["epoch"].clone();
        command["confirm"] = json!(queue.id);
        queue.run_command(command).await
    };
    queue.run_command(json!({ "op": "pause" })).await;
    let paused = show(&entry_path, "paused").await;
    assert!(paused.headers.contains_key("refresh"), "{paused:?}");
    order(json!({ "op": "close" })).await;
    expect_page(&show(&entry_path, "shut").await, "shut");
    let closed = show(&path, "closed").await;
    let html = expect_page(&closed, "closed");
    assert!(
        !html.contains("<form") && closed.headers.contains_key("refresh"),
        "{html}"
    );
    let refused = browser.open(&path).await;
    expect_page(&refused, "closed");
    order(json!({ "op": "finish", "reason": "cancelled", "message": "The singer is ill" })).await;
    let over = show(&entry_path, "finished").await;
    let html = expect_page(over.expect_status(410), "finished");
    assert!(
        !html.contains("<form") && !over.headers.contains_key("refresh"),
        "{html}"
    );
    let start = show(&path, "finished").await;
    for html in [html, expect_page(&start, "finished")] {
        assert!(
            html.contains("Cancelled") && html.contains("The singer is ill"),
            "{html}"
        );
    }
}

/// A form carries no ticket, so the page offers none.
async fn a_page_says_that_a_visitor_with_a_ticket_needs_a_script(backend: &Backend) {
    let keys = key_set(&[&TicketIssuer::ec("shop", 1)]);
    for visitors in ["known", "ticket"] {
        let settings = json!({ "visitors": visitors, "ticket_keys": keys });
        let queue = backend.create_queue(settings).await;
        let start = ApiRequest::get(queue.path("/entries")).header("accept", BROWSER);
        let page = backend.send(start).await;
        let html = expect_page(page.expect_status(403), "refused");
        assert!(
            html.contains("without JavaScript") && !html.contains("<form"),
            "{html}"
        );
    }
}
