#!/usr/bin/env bash
#
# Measures what honest visitors notice of an attack: one client at full speed beside them, through the limits of the gateway,
# against a Redis of its own. The arguments are the seconds of each attack, and the names of attacks if not all shall run.
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
# Each request has two connections, which count at both ends.
raise_open_files

plan_steps bench-attack 2
step "the build"
# Two builds: a single one would also give the runner the features that only tests enable.
run_until_end cargo build --profile local --locked --package vestibule-local
run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench-attack

binaries=$(cargo_target)/local
export VESTIBULE_LOCAL_BIN=$binaries/vestibule-local
step "the measurement"
run_until_end infra/servers.sh run --only redis -- "$binaries/bench-attack" "$@"
end_steps
