#!/usr/bin/env bash
#
# Measures how long the restore of a lost Redis takes, on a Redis and a DynamoDB emulator of its own. The argument is the
# number of entries.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

need_redis
need_ministack >/dev/null

cargo build --profile local --locked --package vestibule-tests --bin bench-restore

binaries=${CARGO_TARGET_DIR:-$root/target}/local
infra/servers.sh run --only redis,dynamodb -- "$binaries/bench-restore" "$@"
