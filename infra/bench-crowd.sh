#!/usr/bin/env bash
#
# Measures what a crowd costs the origin and what its visitors are told: clients over HTTP, through nginx, against a Redis of
# its own. The argument is the number of clients.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

need_cargo
need_redis
VESTIBULE_NGINX=$(need_nginx)
export VESTIBULE_NGINX
# Each held poll has two connections, which count at both ends. More connections are open at the start.
raise_open_files

plan_steps bench-crowd 2
step "the build"
# Two builds: a single one would also give the runner the features that only tests enable.
run_until_end cargo build --profile local --locked --package vestibule-local
run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench-crowd

binaries=$(cargo_target)/local
export VESTIBULE_LOCAL_BIN=$binaries/vestibule-local
step "the measurement"
run_until_end infra/servers.sh run --only redis -- "$binaries/bench-crowd" "$@"
end_steps
