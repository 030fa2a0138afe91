#!/usr/bin/env bash
#
# Measures the line's operations against a Redis of its own. Arguments go to the benchmark.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

need_redis

# Two builds: in one, the features that tests ask for would be in the runner as well, and it would not be what people run.
cargo build --profile local --locked --package vestibule-local
cargo build --profile local --locked --package vestibule-tests --bin bench-line

binaries=${CARGO_TARGET_DIR:-$root/target}/local
export VESTIBULE_LOCAL_BIN=$binaries/vestibule-local
infra/servers.sh run --only redis -- "$binaries/bench-line" "$@"
