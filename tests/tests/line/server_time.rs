//! A server that refuses the command `TIME` to the user of the line.

use redis::Cmd;
use uuid::Uuid;
use vestibule_domain::state::EntryState;
use vestibule_line::{Arrival, EntryLookup, Line};
use vestibule_tests::{
    lines::{Backend, configuration, fresh_queue, tick_order, visitor},
    servers::connect_redis,
};

use crate::settings::bounded;

/// The address of the server for a new user who may do everything but ask for the time.
async fn url_without_time(backend: Backend) -> String {
    let user = format!("no-time-{}", Uuid::new_v4());
    for mut operator in backend.connections().await {
        let mut set = redis::cmd("ACL");
        set.arg(&["SETUSER", &user, "on", ">secret", "~*", "&*", "+@all", "-time"]);
        let () = set.query_async(&mut operator).await.expect("the user is created");
    }
    backend.url().replace("://", &format!("://{user}:secret@"))
}

async fn a_queue_works_without_the_server_time(backend: Backend) {
    let url = url_without_time(backend).await;
    let client = redis::Client::open(url.as_str()).expect("an address");
    let mut connection = connect_redis(client).await;
    let refused: Result<(u64, u64), _> = Cmd::new().arg("TIME").query_async(&mut connection).await;
    assert!(refused.is_err(), "the user may not ask for the time");

    let (line, queue) = (
        Line::connect_patiently(&url).await.expect("it answers"),
        fresh_queue(),
    );
    let created = line
        .configure(&queue, &configuration(&bounded(30, 100, 1)), true)
        .await;
    created.expect("created");
    for number in 1..=200 {
        line.enter(&queue, visitor(number), Arrival::Ordinary)
            .await
            .expect("entered");
        line.check_in(&queue, visitor(number)).await.expect("an answer");
    }
    let before = line.queue_view(&queue).await.expect("a view");
    assert_eq!((before.active, before.waiting), (30, 170));
    assert!(!before.clocks.apart);
    for number in 1..=10 {
        line.leave(
            &queue,
            visitor(number),
            None,
            vestibule_line::LeaveReason::Complete,
        )
        .await
        .expect("completed");
    }
    let promoted = line
        .promote(&queue, tick_order(u64::MAX))
        .await
        .expect("promoted");
    assert_eq!(promoted.promoted, 10);
    let checked_in = line.check_in(&queue, visitor(35)).await.expect("an answer");
    assert!(
        matches!(checked_in.lookup, EntryLookup::Found(status) if status.state() == EntryState::Ready),
        "{checked_in:?}"
    );

    // A process that may ask for the time uses the same queue.
    let other = Line::connect_patiently(&backend.url()).await.expect("it answers");
    other
        .enter(&queue, visitor(500), Arrival::Ordinary)
        .await
        .expect("entered");
    let view = other.queue_view(&queue).await.expect("a view");
    assert!(!view.clocks.apart && view.now_ms >= before.now_ms);
}

#[tokio::test]
async fn a_queue_in_redis_works_without_the_server_time() {
    a_queue_works_without_the_server_time(Backend::Redis).await;
}

#[tokio::test]
async fn a_queue_in_valkey_works_without_the_server_time() {
    a_queue_works_without_the_server_time(Backend::Valkey).await;
}
