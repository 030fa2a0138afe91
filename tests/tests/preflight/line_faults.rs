//! Faults of the Redis of a stack, each planted in a real server.

use vestibule_tests::own_redis::OwnRedis;

use crate::scene::{Scene, SetRights};

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_time_is_found() {
    let scene = Scene::ready().await;
    scene.redis.set_rights(&["-time"]);
    scene.expect_faults(&["line-time"]).await;
    let (_, remedy) = scene.finding("line-time").await;
    assert!(remedy.contains("+time"), "{remedy}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_a_command_of_the_scripts_is_found() {
    let scene = Scene::ready().await;
    scene.redis.set_rights(&["-zadd", "-xadd"]);
    scene.expect_faults(&["line-commands"]).await;
    let (found, _) = scene.finding("line-commands").await;
    assert!(found.contains("XADD, ZADD"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_channels_is_found() {
    let scene = Scene::ready().await;
    scene.redis.set_rights(&["resetchannels"]);
    scene.expect_faults(&["line-subscription"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_sharded_subscriptions_is_found() {
    let scene = Scene::ready().await;
    scene.redis.set_rights(&["-ssubscribe"]);
    scene.expect_faults(&["line-subscription"]).await;
}

/// No right of a user takes HELLO away, which switches to RESP3.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_resp3_is_found() {
    let redis = OwnRedis::start_with(&["--rename-command", "HELLO", ""]);
    let scene = Scene::with_redis(redis, |admin| admin).await;
    scene.expect_faults(&["line-subscription"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_scripts_is_found() {
    let scene = Scene::ready().await;
    scene.redis.set_rights(&["-@scripting"]);
    scene
        .expect_faults(&["line-server", "line-arguments", "line-subscription"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_evicts_is_found() {
    let scene = Scene::ready().await;
    scene
        .redis
        .run(&["config", "set", "maxmemory-policy", "allkeys-lru"]);
    scene.expect_faults(&["line-eviction"]).await;
    let (found, remedy) = scene.finding("line-eviction").await;
    assert!(
        found.contains("allkeys-lru") && remedy.contains("noeviction"),
        "{found} {remedy}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_is_found() {
    let scene = Scene::ready().await;
    scene.redis.fill();
    scene.expect_faults(&["line-memory"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_is_found() {
    let mut scene = Scene::ready().await;
    scene.redis.stop();
    scene.expect_faults(&["line-server"]).await;
}

/// The user of the template may not ask for `INFO`: that is no fault.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_may_not_ask_is_unknown() {
    let scene = Scene::ready().await;
    scene.redis.set_rights(&["-info"]);
    scene.expect_faults(&[]).await;
    let (found, remedy) = scene.finding("line-eviction").await;
    assert!(
        found.contains("may not ask") && remedy.contains("noeviction"),
        "{found} {remedy}"
    );
}
