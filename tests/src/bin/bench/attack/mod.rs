//! Measures what honest visitors notice of an attack: one client at full speed, beside visitors who keep to the rules. Both
//! send their requests through nginx, which has the limits that `template.yaml` gives the gateway, to the local runner,
//! which uses a real Redis.
//!
//! First the honest visitors come alone, and each figure of an attack is compared with theirs. Each time they use a queue of
//! their own. The attacks by fakes come a second time to queues that only tickets open, where one client has one ticket.

use std::time::Duration;

use clap::Args;
use vestibule_tests::attack::{Admission, Attack, AttackPlan, Gateway, run_attack};

use crate::{BenchResult, Context, scene::start_runner};

/// With the pace of ten a second, those who are in line before wait for half a minute.
const IN_LINE_BEFORE: u64 = 300;
/// The least from which a pace can be read.
const IN_LINE_BEFORE_MIN: u64 = 120;
/// The default of the setting.
const CALL_SECONDS: u64 = 30;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The seconds of each attack
    #[arg(default_value_t = 60)]
    seconds: u64,
    /// The attacks, if not all shall run
    #[arg(value_parser = find_attack)]
    attacks: Vec<Attack>,
}

fn find_attack(name: &str) -> Result<Attack, String> {
    let found = Attack::ALL.into_iter().find(|attack| attack.name() == name);
    found.ok_or_else(|| format!("the attacks are {}", Attack::ALL.map(Attack::name).join(", ")))
}

pub(crate) async fn measure(options: Options, context: &Context) -> BenchResult {
    let (runner, _folder) = start_runner(&context.redis_url)?;
    let gateway = Gateway::start(runner.host_and_port().parse()?);
    let chosen = match options.attacks {
        // It comes to both kinds of queues.
        none if none.is_empty() && context.size.is_small => vec![Attack::PollingFakes],
        none if none.is_empty() => Attack::ALL.to_vec(),
        some => some,
    };
    for admission in [Admission::Anyone, Admission::Ticket] {
        let plan = AttackPlan {
            duration: context.size.time(Duration::from_secs(options.seconds)),
            in_line_before: context.size.count_of_at_least(IN_LINE_BEFORE, IN_LINE_BEFORE_MIN),
            admission,
            call_seconds: CALL_SECONDS,
        };
        let without_attack = run_attack(&runner, &gateway, None, plan).await;
        without_attack.print(None);
        let attacks = match admission {
            Admission::Anyone => Attack::ALL.as_slice(),
            Admission::Ticket => &[Attack::Entering, Attack::PollingFakes],
        };
        for attack in attacks.iter().filter(|attack| chosen.contains(attack)) {
            let result = run_attack(&runner, &gateway, Some(*attack), plan).await;
            result.print(Some(&without_attack));
        }
    }
    Ok(())
}
