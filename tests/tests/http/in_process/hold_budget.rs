//! The limit of held polls, which all processes of a deployment share.

mod polls;

use std::{pin::pin, time::Duration};

use axum::Router;
use futures_util::future::{Either, select};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use vestibule_faults::Fault;
use vestibule_tests::{
    in_process::{
        ApiRequest, ApiResponse, BOUND, InProcessApi, QUEUE, entry_path, event, send_to, with_header,
    },
    waiting::wait_until,
};

use self::polls::{
    UNHELD_MAX, count_held_polls, expect_immediate_response, fast_settings, hold_poll_until, poll_request,
    start_with_hold_budget, wait_for_held_polls,
};
use super::{enter_and_expect_created, new_visitor_id};

super::cases![
    all_processes_share_one_budget,
    a_disconnect_releases_the_hold,
    a_disconnect_during_counting_releases_the_hold,
    a_hold_is_released_before_its_response,
    a_disconnect_during_the_release_releases_the_hold,
    only_one_poll_of_an_entry_is_held,
    tokens_alone_use_up_no_budget,
    without_a_count_no_poll_is_held,
    slow_counting_does_not_delay_the_response,
    the_tail_of_one_line_leaves_room_for_another_head,
    lines_of_unknown_speed_share_a_quarter_of_the_budget,
    two_hundred_new_queues_leave_the_share_of_a_busy_one,
];

async fn all_processes_share_one_budget() {
    let (api, config) = start_with_hold_budget(1, fast_settings()).await;
    let other = api.start_second_process(config.clone());
    let (first, _) = enter_and_expect_created(&api).await;
    let (second, _) = enter_and_expect_created(&api).await;
    let response = hold_poll_until((&api, &config), &api.router, &first, async {
        expect_immediate_response(&other, &second).await;
        expect_immediate_response(&api.router, &second).await;
        api.advance_seconds(5);
        api.promote().await;
    })
    .await;
    assert_eq!(response.expect_status(200).text("state"), "ready");
    assert_eq!(
        count_held_polls(&api, &config).await,
        0,
        "the poll was released before its response"
    );
    hold_poll_until((&api, &config), &other, &second, async { api.shut_down() }).await;
    assert_eq!(count_held_polls(&api, &config).await, 0);
}

async fn a_disconnect_releases_the_hold() {
    let (api, config) = start_with_hold_budget(1, fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    {
        let hung_up = pin!(send_to(&api.router, poll_request(&guest)));
        let held = pin!(wait_for_held_polls(&api, &config, 1));
        assert!(matches!(select(hung_up, held).await, Either::Right(_)));
    }
    wait_for_held_polls(&api, &config, 0).await;
    hold_poll_until((&api, &config), &api.router, &guest, async { api.shut_down() }).await;
}

async fn a_disconnect_during_counting_releases_the_hold() {
    let (api, config) = start_with_hold_budget(1, fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.faults.delay("take_hold", Duration::from_millis(300));
    let hung_up = timeout(
        Duration::from_millis(100),
        send_to(&api.router, poll_request(&guest)),
    )
    .await;
    assert!(hung_up.is_err());
    sleep(Duration::from_millis(300)).await;
    wait_for_held_polls(&api, &config, 0).await;
}

/// A function does not run after its response, so a later release would wait for the next request.
async fn a_hold_is_released_before_its_response() {
    let (api, config) = start_with_hold_budget(10, fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.faults.delay("release_holds", Duration::from_millis(300));
    let at_its_end = ApiRequest::get(format!("{}?wait=1", entry_path(&guest.token))).visitor(&guest.id);
    api.send(at_its_end).await.expect_status(200);
    assert_eq!(count_held_polls(&api, &config).await, 0, "at the end of its wait");

    let deployment = (&api, &config);
    let leave = async {
        let leave = guest.leave();
        api.send(leave).await.expect_status(204);
    };
    let response = hold_poll_until(deployment, &api.router, &guest, leave).await;
    response.expect_problem(410, "left");
    assert_eq!(count_held_polls(&api, &config).await, 0, "after the visitor left");

    let (guest, _) = enter_and_expect_created(&api).await;
    let promote = async {
        api.advance_seconds(5);
        api.promote().await;
    };
    let response = hold_poll_until(deployment, &api.router, &guest, promote).await;
    assert_eq!(response.expect_status(200).text("state"), "ready");
    assert_eq!(count_held_polls(&api, &config).await, 0, "after a promotion");

    let (guest, _) = enter_and_expect_created(&api).await;
    let response = hold_poll_until(deployment, &api.router, &guest, async { api.shut_down() }).await;
    assert_eq!(response.expect_status(200).text("state"), "waiting");
    assert_eq!(count_held_polls(&api, &config).await, 0, "at shutdown");
}

async fn a_disconnect_during_the_release_releases_the_hold() {
    let (api, config) = start_with_hold_budget(1, fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.faults.delay("release_holds", Duration::from_millis(300));
    let releases = || api.faults.calls("release_holds");
    {
        let hung_up = pin!(send_to(&api.router, poll_request(&guest)));
        let turn = pin!(async {
            wait_for_held_polls(&api, &config, 1).await;
            api.advance_seconds(5);
            api.promote().await;
            wait_until(BOUND, "the poll is being released", async || releases() > 0).await;
        });
        assert!(matches!(select(hung_up, turn).await, Either::Right(_)));
    }
    wait_for_held_polls(&api, &config, 0).await;
}

async fn only_one_poll_of_an_entry_is_held() {
    let (api, config) = start_with_hold_budget(10, fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    hold_poll_until((&api, &config), &api.router, &guest, async {
        expect_immediate_response(&api.router, &guest).await;
        assert_eq!(
            count_held_polls(&api, &config).await,
            1,
            "the first poll is still held"
        );
        api.shut_down();
    })
    .await;
}

/// Nothing shows how soon visitors leave such a queue. So its polls leave room for those of others.
async fn lines_of_unknown_speed_share_a_quarter_of_the_budget() {
    let settings = json!({ "capacity": 3, "batch": 3, "interval_seconds": 1, "session_seconds": 600 });
    let (api, config) = start_with_hold_budget(8, settings).await;
    let mut guests = Vec::new();
    for _ in 0..5 {
        guests.push(enter_and_expect_created(&api).await.0);
    }
    // Two of them have the other slots.
    let [_, _, first, second, third] = guests.as_slice() else {
        unreachable!("five entered")
    };
    let (deployment, router) = ((&api, &config), &api.router);
    hold_poll_until(deployment, router, first, async {
        let second = send_to(router, poll_request(second));
        let third = async {
            wait_for_held_polls(&api, &config, 2).await;
            expect_immediate_response(router, third).await;
            api.shut_down();
        };
        let (second, ()) = tokio::join!(second, third);
        assert_eq!(second.expect_status(200).text("state"), "waiting");
    })
    .await;
    assert_eq!(count_held_polls(&api, &config).await, 0);
}

/// Tokens are no secret, so they must not use up the budget of the visitors.
async fn tokens_alone_use_up_no_budget() {
    let (api, config) = start_with_hold_budget(1, fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let (other, _) = enter_and_expect_created(&api).await;
    let by_token = || ApiRequest::get(format!("{}?wait=20", entry_path(&other.token)));
    for _ in 0..3 {
        let response = timeout(UNHELD_MAX, api.send(by_token())).await;
        response.expect("answered at once").expect_status(200);
    }
    assert_eq!(api.faults.calls("take_hold"), 0);
    hold_poll_until((&api, &config), &api.router, &guest, async { api.shut_down() }).await;
}

async fn without_a_count_no_poll_is_held() {
    let (api, config) = start_with_hold_budget(10, fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.faults.fail("take_hold", Fault::Unavailable);
    expect_immediate_response(&api.router, &guest).await;
    assert_eq!(count_held_polls(&api, &config).await, 0);
    let (none, _) = start_with_hold_budget(0, fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&none).await;
    expect_immediate_response(&none.router, &guest).await;
}

async fn slow_counting_does_not_delay_the_response() {
    let (api, config) = start_with_hold_budget(10, fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.faults.delay("take_hold", Duration::from_millis(600));
    let resource = "/queues/{queue}/entries/{token}";
    let status = event("GET", resource, &json!({ "queue": QUEUE, "token": guest.token }));
    let mut status = with_header(status, "X-Visitor-Id", &guest.id);
    status["multiValueQueryStringParameters"] = json!({ "wait": ["20"] });
    for limit_ms in [2_500, 1_800] {
        let since = Instant::now();
        let response = api
            .send_event_with_time_limit(&status, Duration::from_millis(limit_ms))
            .await;
        assert_eq!(response.expect_status(200).text("state"), "waiting");
        // Counting took nothing of the time that is reserved for a lookup and the response.
        let took = since.elapsed();
        assert!(took < Duration::from_millis(limit_ms - 800), "{took:?}");
        assert_eq!(count_held_polls(&api, &config).await, 0);
    }
}

/// Two queues share a budget that is too small for both. The head of each line is held, whichever came first.
async fn the_tail_of_one_line_leaves_room_for_another_head() {
    // One slot comes free per second.
    let settings = || json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 1 });
    let (api, config) = start_with_hold_budget(20, settings()).await;
    let another = "TIMEDEAL:124";
    api.create_queue(another, settings()).await;
    let mut tail = Vec::new();
    for _ in 0..20 {
        tail.push(enter_and_expect_created(&api).await.0);
    }
    enter_queue(&api, another).await;
    let head = enter_queue(&api, another).await;
    let polls: Vec<_> = tail
        .iter()
        .map(|guest| tokio::spawn(send_owned(api.router.clone(), poll_request(guest))))
        .collect();
    wait_until(BOUND, "the last poll is answered at once", async || {
        polls.iter().filter(|poll| poll.is_finished()).count() == 1
    })
    .await;
    wait_for_held_polls(&api, &config, 19).await;
    let head = tokio::spawn(send_owned(api.router.clone(), head));
    wait_for_held_polls(&api, &config, 20).await;
    assert!(!head.is_finished());
    api.shut_down();
    for poll in polls {
        poll.await.expect("answered").expect_status(200);
    }
    assert_eq!(
        head.await
            .expect("answered")
            .expect_status(200)
            .number("position"),
        1
    );
    assert_eq!(count_held_polls(&api, &config).await, 0);
}

/// The new queues are full, and nothing shows how soon their visitors leave. All of their polls come first.
async fn two_hundred_new_queues_leave_the_share_of_a_busy_one() {
    let one_slot = |session_seconds: u32| json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": session_seconds });
    let (api, config) = start_with_hold_budget(40, one_slot(1)).await;
    let mut new = Vec::new();
    for number in 0..200 {
        let queue = format!("NEW:{number}");
        api.create_queue(&queue, one_slot(3_600)).await;
        enter_queue(&api, &queue).await;
        let poll = enter_queue(&api, &queue).await;
        new.push(tokio::spawn(send_owned(api.router.clone(), poll)));
    }
    wait_until(
        BOUND,
        "the other polls of new queues are answered at once",
        async || new.iter().filter(|poll| poll.is_finished()).count() == 190,
    )
    .await;
    wait_for_held_polls(&api, &config, 10).await;
    enter_and_expect_created(&api).await;
    let mut busy = Vec::new();
    for _ in 0..20 {
        let (guest, _) = enter_and_expect_created(&api).await;
        busy.push(tokio::spawn(send_owned(api.router.clone(), poll_request(&guest))));
    }
    wait_for_held_polls(&api, &config, 30).await;
    assert!(busy.iter().all(|poll| !poll.is_finished()));
    api.shut_down();
    for poll in new.into_iter().chain(busy) {
        poll.await.expect("answered").expect_status(200);
    }
}

/// A new visitor enters the queue. Returns the visitor's poll.
async fn enter_queue(api: &InProcessApi, queue: &str) -> ApiRequest {
    let visitor = new_visitor_id();
    let response = api
        .send(ApiRequest::post(format!("/queues/{queue}/entries")).visitor(&visitor))
        .await;
    let token = response.expect_status(201).text("token").to_owned();
    ApiRequest::get(format!("/queues/{queue}/entries/{token}?wait=20")).visitor(&visitor)
}

async fn send_owned(routes: Router, request: ApiRequest) -> ApiResponse {
    send_to(&routes, request).await
}
