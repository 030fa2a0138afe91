#!/usr/bin/env bash
#
# Measures how fast a line moves by the calls of those who wait, with the promoter off and on, on a Redis of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

need_redis

cargo build --profile local --locked --package vestibule-tests --bin bench-fallback-ticks

binaries=${CARGO_TARGET_DIR:-$root/target}/local
infra/servers.sh run --only redis -- "$binaries/bench-fallback-ticks"
