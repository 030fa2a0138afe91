#!/usr/bin/env bash
#
# Measures what thousands of queues cost Redis while they are idle, and how long a round over a thousand busy ones takes, on a
# Redis of its own. The argument is the number of queues, 2,000 without it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

need_cargo
need_redis

plan_steps bench-queues 2
step "the build"
run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench-queues

binaries=$(cargo_target)/local
step "the measurement"
run_until_end infra/servers.sh run --only redis -- "$binaries/bench-queues" "$@"
end_steps
