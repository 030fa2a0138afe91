#!/usr/bin/env bash
#
# Runs the HTTP suite against the functions under `sam local`, and stops everything that it started. Arguments go to the
# test runner:
#
#   infra/test-sam.sh                     every case
#   infra/test-sam.sh -E 'test(claim)'    the tests that match a nextest filter
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

readonly SUITE_SECONDS=1800 # The suite usually takes some minutes, because each request starts a container.

need_cargo
need_nextest
runner=(cargo nextest run --profile sam-local)
suite=(--workspace --locked --test http --ignore-default-filter)

# Compiles first, so that a compile error shows at once and the time of the suite excludes it.
run_until_end "${runner[@]}" "${suite[@]}" --no-run

limit=()
if have timeout; then limit=(timeout --foreground --kill-after=10 "$SUITE_SECONDS"); fi
started_at=$SECONDS status=0
export CHILD_END_SECONDS=90 # The containers and their engine stop one after the other.
run_until_end infra/sam-local.sh run -- ${limit[@]+"${limit[@]}"} "${runner[@]}" "${suite[@]}" "$@" || status=$?
say "the suite, with starting and stopping: $((SECONDS - started_at)) s"
exit "$status"
