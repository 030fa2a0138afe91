#!/usr/bin/env bash
#
# Measures what visitors are told of their wait: clients over HTTP against a Redis of its own. The number of clients may be
# given.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

need_redis
# A connection for each poll that is held, at both ends, and more at the beginning.
ulimit -n "$(ulimit -Hn)"

# Two builds: in one, the features that tests ask for would be in the runner as well, and it would not be what people run.
cargo build --profile local --locked --package vestibule-local
cargo build --profile local --locked --package vestibule-tests --bin bench-estimate

binaries=${CARGO_TARGET_DIR:-$root/target}/local
export VESTIBULE_LOCAL_BIN=$binaries/vestibule-local
infra/servers.sh run --only redis -- "$binaries/bench-estimate" "$@"
