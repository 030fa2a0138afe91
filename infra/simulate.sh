#!/usr/bin/env bash
#
# Simulates visitors with the real pacing, the in-memory line and a virtual clock: once with clients that follow
# retry_after_ms, and once with clients that poll every three seconds.
#
#   VISITORS=1000000 SCENARIO=flash SEED=1 infra/simulate.sh      a scenario of infra/simulate/src/scenario.rs
#   VISITORS=100000 SCENARIO=all infra/simulate.sh                each scenario
#   SEEDS=5 VISITORS=20000 SCENARIO=all infra/simulate.sh         each scenario with seeds 1 to 5 (from SEED on); the tables
#                                                                 cover all seeds
#
# The time series with the first seed is in target/simulate, as CSV and as a picture.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

visitors=${VISITORS:-1000000}
seed=${SEED:-1}
seeds=${SEEDS:-1}
[[ $visitors =~ ^[0-9]+$ && $seed =~ ^[0-9]+$ && $seeds =~ ^[0-9]+$ ]] || fail "VISITORS, SEED and SEEDS must be whole numbers"

cargo build --profile local --locked --package vestibule-simulate

# A million visitors are accessed in random order. Huge pages make that faster, if the C library and the system support them.
export GLIBC_TUNABLES=${GLIBC_TUNABLES:-glibc.malloc.hugetlb=1}

target=${CARGO_TARGET_DIR:-$root/target}
exec "$target/local/vestibule-simulate" "${SCENARIO:-flash}" "$visitors" "$seed" "$seeds" "$target/simulate"
