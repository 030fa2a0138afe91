//! One client attacks at full speed, and the honest visitors beside it lose nothing: the pace goes on, every visitor who
//! was let in may act, and no honest visitor is overtaken. Both go through the limits of the gateway.
//!
//! The runner has its line in memory. No test asserts a time, since the machine is busy with the attack itself; waits
//! are counted in promotions. `make bench-attack` measures the times.

use std::time::Duration;

use tempfile::TempDir;
use vestibule_tests::{
    attack::{Attack, AttackPlan, AttackResult, BATCH, Gateway, run_attack},
    runner::Runner,
};

const PLAN: AttackPlan = AttackPlan {
    duration: Duration::from_secs(8),
    in_line_before: 80,
};
/// The wait of the worst visitor, as a multiple of the honest visitors ahead.
const WAIT_MAX: f64 = 1.1;

struct Scene {
    runner: Runner,
    gateway: Gateway,
    _dir: TempDir,
}

impl Scene {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let arguments = ["--demo-visitors", "0", "--quiet"];
        let runner = Runner::start(dir.path(), &arguments).expect("the runner starts");
        let origin = runner.host_and_port().parse().expect("an address");
        Self {
            gateway: Gateway::start(origin),
            runner,
            _dir: dir,
        }
    }

    async fn attack(&self, attack: Attack) -> AttackResult {
        let result = run_attack(&self.runner, &self.gateway, Some(attack), PLAN).await;
        result.print(None);
        result
    }
}

/// The pace went on, and no validate failed.
fn expect_pace_and_validates(result: &AttackResult) {
    let promotions = result.promotions();
    let difference = promotions.counted.abs_diff(promotions.by_ticks);
    assert!(difference <= BATCH, "{promotions:?}");
    assert!(promotions.counted <= promotions.by_pace + BATCH, "{promotions:?}");
    assert_eq!(result.failed_validates(), 0);
    assert!(result.served() > 0);
}

/// No request of the attacker took a turn of an honest visitor.
fn expect_no_longer_waits(result: &AttackResult) {
    assert_eq!(result.unserved, 0);
    let waits = result.waits_in_promotions();
    assert!(waits.len() > 50, "the turn of {} visitors was seen", waits.len());
    let longest = waits.last().expect("a visitor waited");
    assert!(*longest <= WAIT_MAX, "{longest}");
}

#[tokio::test]
async fn a_flood_of_unknown_tokens_delays_no_visitor() {
    let result = Scene::start().attack(Attack::UnknownTokens).await;
    expect_pace_and_validates(&result);
    expect_no_longer_waits(&result);
}

#[tokio::test]
async fn a_flood_of_unsigned_validates_delays_no_visitor() {
    let result = Scene::start().attack(Attack::Validate).await;
    expect_pace_and_validates(&result);
    expect_no_longer_waits(&result);
}

#[tokio::test]
async fn a_flood_of_the_document_delays_no_visitor() {
    let result = Scene::start().attack(Attack::Document).await;
    expect_pace_and_validates(&result);
    expect_no_longer_waits(&result);
}

/// Fakes that never poll are passed over, so they take no turn. Those who arrive behind them may wait for them to be
/// passed over.
#[tokio::test]
async fn sleeping_fakes_keep_the_pace() {
    let result = Scene::start().attack(Attack::SleepingFakes).await;
    expect_pace_and_validates(&result);
}

#[tokio::test]
async fn unlimited_entering_keeps_the_pace() {
    let result = Scene::start().attack(Attack::Entering).await;
    expect_pace_and_validates(&result);
}

/// Fakes that poll take turns from those who enter behind them: any visitor may enter this queue.
#[tokio::test]
async fn polling_fakes_keep_the_pace() {
    let result = Scene::start().attack(Attack::PollingFakes).await;
    expect_pace_and_validates(&result);
}
