//! Which nodes the line asks, and which certificates it trusts.

use vestibule_line::{Line, LineError};
use vestibule_tests::cluster::Cluster;

#[tokio::test]
async fn connecting_skips_a_dead_node_if_another_is_named() {
    let cluster = Cluster::shared();
    let alive = cluster.live_nodes().await.remove(0).port;
    // No process listens there: the port is reserved.
    let url = cluster.url_with_nodes(&format!("127.0.0.1:1,127.0.0.1:{alive}"));
    let line = Line::connect(&url).await.expect("connects");
    line.ping().await.expect("pings");
    let alone = Line::connect(&cluster.url_with_nodes("127.0.0.1:1")).await;
    assert!(matches!(alone, Err(LineError::Unavailable(_))));
}

#[tokio::test]
async fn only_the_named_authority_is_trusted() {
    let cluster = Cluster::shared();
    let url = cluster.url();
    let (trusting, _) = url.split_once('?').expect("the file");
    let refused = Line::connect(trusting)
        .await
        .expect_err("the system does not know that authority");
    assert!(refused.to_string().contains("certificate"), "{refused}");
    let one = trusting.replacen("+cluster", "", 1);
    let refused = Line::connect(&one)
        .await
        .expect_err("the same holds for a single server");
    assert!(refused.to_string().contains("certificate"), "{refused}");
    let trusted = url.replacen("+cluster", "", 1);
    let line = Line::connect(&trusted)
        .await
        .expect("a single server is trusted by the same file");
    line.ping().await.expect("pings");
}
