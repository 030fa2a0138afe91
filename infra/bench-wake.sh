#!/usr/bin/env bash
#
# Measures how soon held polls are answered when their turn comes, on a Redis of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

need_redis

plan_steps bench-wake 2
step "the build"
cargo build --profile local --locked --package vestibule-tests --bin bench-wake

# Ten thousand connections and the other open files of a process.
ulimit -n 11000 || {
  echo "bench-wake: the limit of open files is too low: raise the hard limit of \`ulimit -n\` to 11000" >&2
  exit 1
}

binaries=${CARGO_TARGET_DIR:-$root/target}/local
step "the measurement"
infra/servers.sh run --only redis -- "$binaries/bench-wake" "$@"
end_steps
