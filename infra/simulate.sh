#!/usr/bin/env bash
#
# Sends a crowd through the real rules and the line in memory by a virtual clock, once with clients that keep to what they
# are told and once with clients that poll every three seconds.
#
#   VISITORS=1000000 SCENARIO=flash SEED=1 infra/simulate.sh      one of infra/simulate/src/scenario.rs
#   VISITORS=100000 SCENARIO=all infra/simulate.sh                each of them
#   SEEDS=5 VISITORS=20000 SCENARIO=all infra/simulate.sh         each of them with seeds 1 to 5 (from SEED on): a run is one
#                                                                 draw of chance, and the tables speak of all together
#
# The course with the first seed as CSV and as a picture is in target/simulate.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

visitors=${VISITORS:-1000000}
seed=${SEED:-1}
seeds=${SEEDS:-1}
[[ $visitors =~ ^[0-9]+$ && $seed =~ ^[0-9]+$ && $seeds =~ ^[0-9]+$ ]] || fail "VISITORS, SEED and SEEDS are whole numbers"

cargo build --profile local --locked --package vestibule-simulate

# A million visitors are looked up at random: by huge pages, where the C library and the system have them, that is quicker.
export GLIBC_TUNABLES=${GLIBC_TUNABLES:-glibc.malloc.hugetlb=1}

target=${CARGO_TARGET_DIR:-$root/target}
exec "$target/local/vestibule-simulate" "${SCENARIO:-flash}" "$visitors" "$seed" "$seeds" "$target/simulate"
