#!/usr/bin/env bash
#
# Measures how soon held polls are answered when their turn comes, on a Redis of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

need_cargo
need_redis

plan_steps bench-wake 2
step "the build"
run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench-wake

# Ten thousand connections and the other open files of a process.
raise_open_files
[[ $(ulimit -n) == unlimited ]] || (($(ulimit -n) >= 11000)) ||
  fail "the limit of open files is too low: raise the hard limit of \`ulimit -n\` to 11000"

binaries=$(cargo_target)/local
step "the measurement"
run_until_end infra/servers.sh run --only redis -- "$binaries/bench-wake" "$@"
end_steps
