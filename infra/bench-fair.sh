#!/usr/bin/env bash
#
# Measures how fair the line is, on a Redis of its own: the order of promotions against that of entering, the draw, and the
# share of lower lanes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

need_cargo
need_redis

plan_steps bench-fair 2
step "the build"
run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench-fair

binaries=$(cargo_target)/local
step "the measurement"
run_until_end infra/servers.sh run --only redis -- "$binaries/bench-fair"
end_steps
