//! One client attacks at full speed beside honest visitors. Both go through the limits of the gateway. The visitors who
//! were in line before are served, every visitor who was let in may act, and a flood of one route delays no visitor.
//!
//! The runner has its line inside the process. No test asserts a time, since the machine is busy with the attack itself; waits
//! are counted in promotions. `make bench NAME=attack` measures the times.

use std::time::Duration;

use tempfile::TempDir;
use vestibule_tests::{
    attack::{Admission, Attack, AttackPlan, AttackResult, BATCH, Gateway, PER_SECOND, run_attack},
    runner::Runner,
};

const PLAN: AttackPlan = AttackPlan {
    duration: Duration::from_secs(8),
    in_line_before: 80,
    admission: Admission::Anyone,
    call_seconds: 5,
};
/// Fakes enter as fast as they can, so those of one attack are called in two groups: the first window, and the grown one.
const GROUPS_OF_FAKES: u64 = 2;
const PLAN_WITH_TICKETS: AttackPlan = AttackPlan {
    admission: Admission::Ticket,
    ..PLAN
};
/// The wait of most visitors, as a multiple of the honest visitors ahead.
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
        self.attack_queue(attack, PLAN).await
    }

    async fn attack_queue(&self, attack: Attack, plan: AttackPlan) -> AttackResult {
        let result = run_attack(&self.runner, &self.gateway, Some(attack), plan).await;
        result.print(None);
        result
    }
}

/// The pace went on, and no validate failed.
fn expect_pace_and_validates(result: &AttackResult) {
    let promotions = result.promotions();
    assert!(
        promotions.counted + BATCH >= promotions.by_ticks,
        "{promotions:?}"
    );
    // A line that stands still has no ticks that promote. The bound is wide, because the machine is busy.
    assert!(
        promotions.counted * 2 + BATCH >= promotions.by_pace,
        "{promotions:?}"
    );
    expect_no_more_than_the_pace(result);
}

fn expect_no_more_than_the_pace(result: &AttackResult) {
    let promotions = result.promotions();
    assert!(promotions.counted <= promotions.by_pace + BATCH, "{promotions:?}");
    assert_eq!(result.failed_validates(), 0);
    // Those who were in line before the attack are ahead of it.
    assert_eq!(result.unserved_in_line(), 0);
    // The machine is so busy with some attacks that more polls are late.
    expect_no_longer_than_those_ahead(&result.waits_in_promotions_of_line(), 75);
}

/// No request of the attacker took a turn of an honest visitor.
fn expect_no_longer_waits(result: &AttackResult) {
    assert_eq!(result.unserved(), 0);
    expect_no_longer_than_those_ahead(&result.waits_in_promotions(), 90);
}

fn expect_no_longer_than_those_ahead(waits: &[f64], percent: usize) {
    assert!(waits.len() > 50, "the turn of {} visitors was seen", waits.len());
    // A visitor whose polls were late, because the machine is busy, may have been passed over once.
    let wait = waits[waits.len() * percent / 100];
    assert!(wait <= WAIT_MAX, "{waits:?}");
}

/// One client enters at full speed with the one ticket that it has, with forged ones, and with none.
#[tokio::test]
async fn one_ticket_at_full_speed_delays_no_visitor() {
    let result = Scene::start()
        .attack_queue(Attack::Entering, PLAN_WITH_TICKETS)
        .await;
    assert!(result.refused() > 100, "{result:?}");
    expect_pace_and_validates(&result);
    expect_no_longer_waits(&result);
}

/// The one entry that the client has polls at full speed, and never claims.
#[tokio::test]
async fn polling_with_one_ticket_delays_no_visitor() {
    let result = Scene::start()
        .attack_queue(Attack::PollingFakes, PLAN_WITH_TICKETS)
        .await;
    expect_pace_and_validates(&result);
    expect_no_longer_waits(&result);
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

/// Fakes that never poll are passed over, so they take no turn. Those who arrive behind them wait until each group of them
/// has been called for `call_seconds`.
#[tokio::test]
async fn sleeping_fakes_delay_those_behind_them_by_their_call() {
    let result = Scene::start().attack(Attack::SleepingFakes).await;
    expect_no_more_than_the_pace(&result);
    assert_eq!(result.unserved(), 0);
    let promotions = result.promotions();
    let missed_max = GROUPS_OF_FAKES * PLAN.call_seconds * PER_SECOND + BATCH;
    assert!(
        promotions.counted + missed_max >= promotions.by_ticks,
        "{promotions:?}"
    );
}

/// When hundreds of fakes for each honest visitor reach the head of the line, promotion waits until they are passed over. So
/// those who enter during the attack wait longer, and the line is slower than its pace for a while. Those who were in line
/// before have their turns as without it.
#[tokio::test]
async fn unlimited_entering_delays_none_who_were_in_line() {
    let result = Scene::start().attack(Attack::Entering).await;
    expect_no_more_than_the_pace(&result);
}

/// Fakes that poll take turns from those who enter behind them: any visitor may enter this queue.
#[tokio::test]
async fn polling_fakes_keep_the_pace() {
    let result = Scene::start().attack(Attack::PollingFakes).await;
    expect_pace_and_validates(&result);
}
