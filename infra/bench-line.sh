#!/usr/bin/env bash
#
# Measures the line's operations against a Redis of its own. Arguments go to the benchmark.
#
#   infra/bench-line.sh                           prints the figures
#   infra/bench-line.sh --against PATH            compares this build with the earlier build PATH of bench-line: both run by
#                                                 turns, and each figure is printed as a ratio, NAME_vs_old. A vestibule-local
#                                                 beside PATH serves the old build; without it, an old build may lack HTTP
#   infra/bench-line.sh --against PATH --rounds 9
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

need_cargo
need_redis

plan_steps bench-line 2
step "the build"
# Two builds: a single one would also give the runner the features that only tests enable.
run_until_end cargo build --profile local --locked --package vestibule-local
run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench-line

binaries=$(cargo_target)/local
export VESTIBULE_LOCAL_BIN=$binaries/vestibule-local
step "the measurement"
run_until_end infra/servers.sh run --only redis -- "$binaries/bench-line" "$@"
end_steps
