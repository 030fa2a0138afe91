//! Measures what honest visitors notice of an attack: one client at full speed, beside visitors who keep to the rules. Both
//! send their requests through nginx, which has the limits that `template.yaml` gives the gateway, to the local runner,
//! which uses a real Redis.
//!
//! First the honest visitors come alone, then beside each attack. Each time they use a queue of their own. The attacks
//! by fakes come a second time to queues that only tickets open, where one client has one ticket. All figures are printed as `name=value`. Run it with `make bench-attack`, which starts a Redis of its own. The arguments are the
//! seconds of each attack, and the names of attacks if not all shall run.

use std::{env, error::Error, time::Duration};

use vestibule_tests::{
    attack::{Admission, Attack, AttackPlan, Gateway, run_attack},
    runner::Runner,
};

const SECONDS: u64 = 60;
/// With the pace of ten a second, those who are in line before wait for half a minute.
const IN_LINE_BEFORE: u64 = 300;
/// The default of the setting.
const CALL_SECONDS: u64 = 30;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let redis_url =
        env::var("TEST_REDIS_URL").map_err(|_| "TEST_REDIS_URL is not set: run `make bench-attack`")?;
    let mut arguments = env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(SECONDS), |seconds| seconds.parse())?;
    let chosen: Vec<_> = arguments.collect();
    let dir = tempfile::tempdir()?;
    let arguments = ["--demo-visitors", "0", "--quiet", "--redis", &redis_url];
    let runner = Runner::start(dir.path(), &arguments).map_err(|ended| ended.stderr)?;
    let gateway = Gateway::start(runner.host_and_port().parse()?);
    for admission in [Admission::Anyone, Admission::Ticket] {
        let plan = AttackPlan {
            duration: Duration::from_secs(seconds),
            in_line_before: IN_LINE_BEFORE,
            admission,
            call_seconds: CALL_SECONDS,
        };
        let without_attack = run_attack(&runner, &gateway, None, plan).await;
        without_attack.print(None);
        let attacks = match admission {
            Admission::Anyone => Attack::ALL.as_slice(),
            Admission::Ticket => &[Attack::Entering, Attack::PollingFakes],
        };
        for attack in attacks {
            if chosen.is_empty() || chosen.iter().any(|name| name == attack.name()) {
                let result = run_attack(&runner, &gateway, Some(*attack), plan).await;
                result.print(Some(&without_attack));
            }
        }
    }
    Ok(())
}
