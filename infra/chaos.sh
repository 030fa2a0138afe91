#!/usr/bin/env bash
#
# Runs the chaos suite: visitors on their way through a queue while everything fails at random, and a checker.
#
#   SEEDS=50 infra/chaos.sh       seeds 1 to 50
#   SEED=7 infra/chaos.sh         seed 7 alone: replays its plan
#
# A line for each seed; the plan and the evidence of a failed one are in target/chaos/seed-N.txt, and what the functions
# logged in target/chaos/log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

first=${SEED:-1}
last=${SEED:-${SEEDS:-50}}
[[ $first =~ ^[0-9]+$ && $last =~ ^[0-9]+$ ]] || fail "SEEDS and SEED are whole numbers"

need_redis
need_ministack >/dev/null

# Two builds: in one, the features that tests ask for would be in the functions as well.
cargo build --locked --package functions
cargo build --locked --package vestibule-tests --bin chaos

target=${CARGO_TARGET_DIR:-$root/target}
export VESTIBULE_FUNCTIONS_DIR=$target/debug
mkdir -p "$target/chaos"
infra/servers.sh run --only dynamodb -- "$target/debug/chaos" "$first" "$last" "$target/chaos" 2>"$target/chaos/log" || {
  status=$?
  grep -A 3 'panicked at' "$target/chaos/log" >&2 || true
  say "the functions' log is in $target/chaos/log"
  exit "$status"
}
