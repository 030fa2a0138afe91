#!/usr/bin/env bash
#
# Measures how fast fallback ticks move a line while the promoter is off, compared with the promoter, on a Redis of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

need_redis

cargo build --profile local --locked --package vestibule-tests --bin bench-fallback-ticks

binaries=${CARGO_TARGET_DIR:-$root/target}/local
infra/servers.sh run --only redis -- "$binaries/bench-fallback-ticks"
