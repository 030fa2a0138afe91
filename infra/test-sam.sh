#!/usr/bin/env bash
#
# Runs the HTTP suite against the functions under `sam local`, and stops all that it started. Arguments go to the test
# runner:
#
#   infra/test-sam.sh                     every case
#   infra/test-sam.sh -E 'test(claim)'    what matches a nextest filter
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

readonly SUITE_SECONDS=1800 # Some minutes are usual: each request starts a container.

if cargo nextest --version >/dev/null 2>&1; then
  runner=(cargo nextest run --profile sam-local)
else
  say "cargo-nextest is not installed: running with cargo test, which has no time limit for a test"
  runner=(cargo test)
fi
suite=(--locked --package vestibule-tests --test http)

# First, so that what it takes is not counted as the suite's, and an error in it is heard of at once.
"${runner[@]}" "${suite[@]}" --no-run

limit=()
if have timeout; then limit=(timeout --foreground --kill-after=10 "$SUITE_SECONDS"); fi
started_at=$SECONDS status=0
infra/sam-local.sh run -- ${limit[@]+"${limit[@]}"} "${runner[@]}" "${suite[@]}" "$@" || status=$?
say "all of it, with starting and stopping: $((SECONDS - started_at)) s"
exit "$status"
