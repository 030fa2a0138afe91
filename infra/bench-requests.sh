#!/usr/bin/env bash
#
# Measures the processor time of each kind of request, of the whole process of its function, on a Redis and a DynamoDB emulator
# of its own. Then it compares the limit that a plan predicts with what a crowd costs Redis. The argument is the number of
# visitors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

need_cargo
need_redis
need_ministack >/dev/null

plan_steps bench-requests 2
step "the build"
# Two builds: a single one would also give the functions the features that only tests enable.
run_until_end cargo build --profile local --locked --package functions --package vestibule-local
run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench-requests --bin empty_function

binaries=$(cargo_target)/local
export VESTIBULE_FUNCTIONS_DIR=$binaries VESTIBULE_LOCAL_BIN=$binaries/vestibule-local
step "the measurement"
# The functions log the metrics of each request, which are of no use here.
run_until_end infra/servers.sh run --only redis,dynamodb -- "$binaries/bench-requests" "$@" 2> >(grep --line-buffered -v '"_aws"' >&2)
end_steps
