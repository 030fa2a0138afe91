#!/usr/bin/env bash
#
# Runs every test against real servers, installing what is missing. Arguments go to the test runner:
#
#   infra/test.sh                     everything
#   infra/test.sh -E 'test(claim)'    what matches a nextest filter
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

# Before the long compilation, so that a tool that cannot be had is heard of at once.
need_redis
need_openssl
need_valkey >/dev/null
need_ministack >/dev/null
VESTIBULE_CHROMIUM=$(need_chromium)
export VESTIBULE_CHROMIUM

# Documentation first: it needs no server, and the run then closes with the summary of the suites.
cargo test --doc --workspace --locked

if cargo nextest --version >/dev/null 2>&1; then
  runner=(cargo nextest run --workspace --locked)
else
  say "cargo-nextest is not installed: running with cargo test, which has no time limit for a test"
  runner=(cargo test --workspace --all-targets --locked --no-fail-fast)
fi

# The suites that run the local runner and the functions as processes get those that people run: without what only tests
# ask for.
cargo build --locked --package vestibule-local --package functions
export VESTIBULE_FUNCTIONS_DIR=${CARGO_TARGET_DIR:-$root/target}/debug
export VESTIBULE_LOCAL_BIN=$VESTIBULE_FUNCTIONS_DIR/vestibule-local

infra/servers.sh run -- "${runner[@]}" "$@"
