#!/usr/bin/env bash
#
# Measures how soon held polls are told of their turn, against a Redis of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

need_redis

cargo build --profile local --locked --package vestibule-tests --bin bench-wake

# Ten thousand connections, and what else a process has open.
ulimit -n 11000 || {
  echo "bench-wake: this many files may not be open at once: raise the hard limit of \`ulimit -n\`" >&2
  exit 1
}

binaries=${CARGO_TARGET_DIR:-$root/target}/local
infra/servers.sh run --only redis -- "$binaries/bench-wake" "$@"
