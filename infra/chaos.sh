#!/usr/bin/env bash
#
# Runs the chaos suite: visitors pass through a queue while its parts fail at random, and a checker looks for violations.
#
#   SEEDS=50 infra/chaos.sh       seeds 1 to 50
#   SEED=7 infra/chaos.sh         only seed 7: replays its plan
#
# It prints a line for each seed. The plan and the evidence of a failed seed are in target/chaos/seed-N.txt, and the logs of
# the functions in target/chaos/log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

first=${SEED:-1}
last=${SEED:-${SEEDS:-50}}
[[ $first =~ ^[0-9]+$ && $last =~ ^[0-9]+$ ]] || fail "SEEDS and SEED must be whole numbers"

need_cargo
need_redis
need_ministack >/dev/null

run_until_end cargo build --workspace --locked --bins

target=$(cargo_target)
export VESTIBULE_FUNCTIONS_DIR=$target/debug
mkdir -p "$target/chaos"
run_until_end infra/servers.sh run --only dynamodb -- "$target/debug/chaos" "$first" "$last" "$target/chaos" 2>"$target/chaos/log" || {
  status=$?
  grep -A 3 'panicked at' "$target/chaos/log" >&2 || true
  say "the log of the functions is in $target/chaos/log"
  exit "$status"
}
