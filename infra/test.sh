#!/usr/bin/env bash
#
# Runs every test against real servers, and installs what is missing. Arguments go to the test runner:
#
#   infra/test.sh                     everything but the long tests (.config/nextest.toml says which are long), and the
#                                     tests in a browser
#   infra/test.sh --profile long      only the long tests
#   infra/test.sh -E 'test(claim)'    the tests that match a nextest filter
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

case "$*" in
  '') plan_steps test 6 ;;
  '--profile long') plan_steps 'the long suites' 5 ;;
  *) plan_steps 'some suites' 5 ;;
esac
step "the tools and servers"
# Installs the tools before the long compilation, so that a tool that cannot be installed fails the run at once.
need_redis
need_openssl
need_valkey >/dev/null
need_ministack >/dev/null
VESTIBULE_CHROMIUM=$(need_chromium)
export VESTIBULE_CHROMIUM
VESTIBULE_NGINX=$(need_nginx)
export VESTIBULE_NGINX
install_packages tests/browser
install_shops

# The tests of the client library and the documentation tests run first. They need no server, and the summary of the
# suites is then the end of the output.
step "the client library and the pages"
infra/client.sh test
step "the examples in the documentation of the code"
cargo test --doc --workspace --locked

if cargo nextest --version >/dev/null 2>&1; then
  runner=(cargo nextest run --workspace --locked)
else
  if [[ ${1:-} == --profile ]]; then
    say "cargo-nextest is not installed, so \`make test\` has run the long tests too"
    exit 0
  fi
  say "cargo-nextest is not installed, so cargo test runs all tests, also the long ones, without a time limit for each"
  runner=(cargo test --workspace --all-targets --locked --no-fail-fast)
fi

# Some suites start the local runner and the functions as processes. They use the normal binaries, without the features
# that only tests enable.
step "the build of the runner, the console, the preflight and the functions"
cargo build --locked --package vestibule-local --package functions
cargo build --locked --package vestibule-stack-console --package vestibule-preflight --package vestibule-rehearse
export VESTIBULE_FUNCTIONS_DIR=${CARGO_TARGET_DIR:-$root/target}/debug
export VESTIBULE_LOCAL_BIN=$VESTIBULE_FUNCTIONS_DIR/vestibule-local
export VESTIBULE_STACK_CONSOLE_BIN=$VESTIBULE_FUNCTIONS_DIR/vestibule-stack-console
export VESTIBULE_REHEARSE_BIN=$VESTIBULE_FUNCTIONS_DIR/vestibule-rehearse
export VESTIBULE_PREFLIGHT_BIN=$VESTIBULE_FUNCTIONS_DIR/vestibule-preflight
export VESTIBULE_WIDGET_BIN=$VESTIBULE_FUNCTIONS_DIR/widget

# Arguments choose among the suites below. The browser tests are none of them.
if (($# == 0)); then
  step "the tests in a browser"
  infra/browser.sh
fi

# Most tests wait for a clock most of their time, so more of them run at once than there are cores. Those that compute take
# the place of several: see .config/nextest.toml.
export NEXTEST_TEST_THREADS=${NEXTEST_TEST_THREADS:-$(($(nproc) * 4))}

step "the suites, with real servers"
infra/servers.sh run -- "${runner[@]}" "$@"
end_steps
