//! Whom the line asks, and whom it trusts.

use vestibule_line::{LineError, QueueLine};
use vestibule_line_redis::RedisLine;
use vestibule_tests::cluster::Cluster;

#[tokio::test]
async fn a_node_that_is_gone_is_passed_over_where_the_address_has_another() {
    let cluster = Cluster::shared();
    let alive = cluster.nodes().await.remove(0).port;
    // Nobody listens there: the port is reserved.
    let url = cluster.url_of(&format!("127.0.0.1:1,127.0.0.1:{alive}"));
    let line = RedisLine::connect(&url).await.expect("connects");
    line.ping().await.expect("pings");
    let alone = RedisLine::connect(&cluster.url_of("127.0.0.1:1")).await;
    assert!(matches!(alone, Err(LineError::Unavailable(_))));
}

#[tokio::test]
async fn only_the_named_authority_is_trusted() {
    let cluster = Cluster::shared();
    let url = cluster.url();
    let (trusting, _) = url.split_once('?').expect("the file");
    let refused = RedisLine::connect(trusting)
        .await
        .expect_err("nobody knows that authority");
    assert!(refused.to_string().contains("certificate"), "{refused}");
    let one = trusting.replacen("+cluster", "", 1);
    let refused = RedisLine::connect(&one)
        .await
        .expect_err("nor where it is asked as one server");
    assert!(refused.to_string().contains("certificate"), "{refused}");
    let trusted = url.replacen("+cluster", "", 1);
    let line = RedisLine::connect(&trusted)
        .await
        .expect("one server is trusted as a cluster is");
    line.ping().await.expect("pings");
}
