#!/usr/bin/env bash
#
# Simulates visitors with the real pacing, the line and a virtual clock.
#
#   infra/simulate.sh                                             a million visitors of an event, in a deployment with
#                                                                 ceilings: with clients that follow the public document,
#                                                                 and beside them without it
#   CEILING=40000 CHECKS=6 infra/simulate.sh                      the hash slot of the queue answers so many entry polls per
#                                                                 second (2900: ElastiCache Serverless, the default; 40000:
#                                                                 a node), and the protected service validates each active
#                                                                 visitor so often
#   WAIT_MINUTES=30 infra/simulate.sh                             visitors wait so long on average, or longer if the slot is too
#                                                                 slow. 0, the default up to CEILING=2900, is the highest pace
#                                                                 that the slot carries; else the default is 30
#   SCENARIO=adaptive infra/simulate.sh                           a service that slows and recovers, and the pace that follows
#                                                                 its load reports; SEED alone counts
#   SCENARIO=all infra/simulate.sh                                each other scenario of tools/simulate/src/crowd_scenarios.rs
#   CEILING=none SCENARIO=flash infra/simulate.sh                 without ceilings: a scenario of
#                                                                 tools/simulate/src/scenario.rs, or all. Once with clients
#                                                                 that follow retry_after_ms, and once with clients that poll
#                                                                 every three seconds
#   CEILING=none SEEDS=5 VISITORS=20000 SCENARIO=all infra/simulate.sh
#                                                                 each scenario with seeds 1 to 5 (from SEED on); the tables
#                                                                 cover all seeds
#
# Without ceilings, the time series with the first seed is in target/simulate, as CSV and as a picture.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

visitors=${VISITORS:-1000000}
seed=${SEED:-1}
seeds=${SEEDS:-1}
ceiling=${CEILING:-2900}
checks=${CHECKS:-0}
[[ $visitors =~ ^[0-9]+$ && $seed =~ ^[0-9]+$ && $seeds =~ ^[0-9]+$ ]] || fail "VISITORS, SEED and SEEDS must be whole numbers"
[[ $ceiling =~ ^([0-9]+|none)$ && $checks =~ ^[0-9]+$ ]] || fail "CEILING must be a whole number or none, and CHECKS a whole number"
if [[ $ceiling == none ]]; then usual=flash; else usual=crowd; fi
if [[ $ceiling != none ]] && ((ceiling > 2900)); then usual_wait=30; else usual_wait=0; fi
wait_minutes=${WAIT_MINUTES:-$usual_wait}
[[ $wait_minutes =~ ^[0-9]+$ ]] || fail "WAIT_MINUTES must be a whole number"

need_cargo
plan_steps simulate 2
step "the build"
run_until_end cargo build --profile local --locked --package vestibule-simulate

# A million visitors are accessed in random order. Huge pages make that faster, if the C library and the system support them.
export GLIBC_TUNABLES=${GLIBC_TUNABLES:-glibc.malloc.hugetlb=1}

target=$(cargo_target)
step "${SCENARIO:-$usual} with $visitors visitors"
run_until_end "$target/local/vestibule-simulate" "${SCENARIO:-$usual}" "$visitors" "$seed" "$seeds" "$target/simulate" \
	"$ceiling" "$checks" "$wait_minutes"
end_steps
