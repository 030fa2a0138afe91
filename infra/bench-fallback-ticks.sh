#!/usr/bin/env bash
#
# Measures how fast fallback ticks move a line while the promoter is off, compared with the promoter, on a Redis of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

need_cargo
need_redis

plan_steps bench-fallback-ticks 2
step "the build"
run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench-fallback-ticks

binaries=$(cargo_target)/local
step "the measurement"
run_until_end infra/servers.sh run --only redis -- "$binaries/bench-fallback-ticks"
end_steps
