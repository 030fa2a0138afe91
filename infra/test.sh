#!/usr/bin/env bash
#
# Runs tests against real servers, and installs what is missing:
#
#   infra/test.sh                   what `make test` runs: everything but the long suites
#   infra/test.sh --slice 3         a slice of the long suites, 1 to 4
#   infra/test.sh --longest         what is in no slice
#   infra/test.sh --suite template  one suite, a crate or the browser, with nothing that it does not need
#   infra/test.sh -E 'test(claim)'  the tests that match a nextest filter
#
# Further arguments go to the test runner. .config/nextest.toml says which test is where, infra/suites.txt what a suite needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

readonly SERVERS="redis valkey cluster dynamodb" TOOLS="sam nginx chromium packages generators"

# All of Vestibule is built by this selection of packages, for all tests and for the programs that they start. Another
# selection would have other features, and compile the AWS SDK once more.
readonly SELECTION=(--workspace --locked)

usage() { fail "usage: infra/test.sh [--slice 1|2|3|4 | --longest | --suite NAME] [ARGUMENT of cargo nextest run...]"; }

# Prints what a suite needs, from infra/suites.txt. Fails if there is no such suite.
needs_of() { # SUITE
  local suite needs
  while read -r suite needs; do
    if [[ $suite == "$1" ]]; then
      printf '%s\n' "${needs#-}"
      return
    fi
  done <infra/suites.txt
  return 1
}

# Installs tools before the long compilation, so that one that cannot be installed fails the run at once.
install_tools() { # NEED...
  local need
  need_nextest
  for need in "$@"; do
    case $need in
      redis) need_redis ;;
      cluster)
        need_redis
        need_openssl
        ;;
      valkey) need_valkey >/dev/null ;;
      dynamodb) need_ministack >/dev/null ;;
      sam)
        VESTIBULE_LAMBDA_EMULATOR=$(need_lambda_emulator)
        export VESTIBULE_LAMBDA_EMULATOR
        ;;
      chromium)
        VESTIBULE_CHROMIUM=$(need_chromium)
        export VESTIBULE_CHROMIUM
        ;;
      nginx)
        VESTIBULE_NGINX=$(need_nginx)
        export VESTIBULE_NGINX
        ;;
      packages)
        install_packages web/client
        install_packages tests/browser
        install_shops
        ;;
      generators)
        need_environment openapi
        need_environment api
        install_packages infra/reference
        install_packages tests/api
        ;;
    esac
  done
}

# Some suites start programs of the workspace as processes.
name_programs() {
  local programs
  programs=$(cargo_target)/debug
  export VESTIBULE_FUNCTIONS_DIR=$programs
  export VESTIBULE_LOCAL_BIN=$programs/vestibule-local
  export VESTIBULE_STACK_CONSOLE_BIN=$programs/vestibule-stack-console
  export VESTIBULE_REHEARSE_BIN=$programs/vestibule-rehearse
  export VESTIBULE_PREFLIGHT_BIN=$programs/vestibule-preflight
  export VESTIBULE_WIDGET_BIN=$programs/widget
}

# Says where the tests note each call of AWS that a function sends.
note_calls() {
  VESTIBULE_AWS_CALLS=$(cargo_output)/aws-calls.txt
  export VESTIBULE_AWS_CALLS
  mkdir -p "$(cargo_output)"
  : >"$VESTIBULE_AWS_CALLS"
}

# Fails if tests/aws-calls.txt has a call that no function sent in a run of all suites. With RECORD_AWS_CALLS=yes, writes the
# file anew.
compare_calls() {
  local known=tests/aws-calls.txt comments uncalled
  if [[ ${RECORD_AWS_CALLS:-} == yes ]]; then
    comments=$(grep '^#' "$known")
    { printf '%s\n' "$comments" && sort -u "$VESTIBULE_AWS_CALLS"; } >"$known"
    say "wrote $known"
    return
  fi
  uncalled=$(grep -v '^#' "$known" | grep -vxFf "$VESTIBULE_AWS_CALLS" || true)
  [[ -z $uncalled ]] || fail "no test made a function send these calls, so remove them from $known, and the rights from" \
    "template.yaml, or add a test:"$'\n'"$uncalled"
}

# Runs the tests beside the servers. A run that executes no test fails.
run_tests() { # NEED... -- ARGUMENT of the test runner...
  local need servers=
  while [[ $1 != -- ]]; do
    need=$1
    if [[ " $SERVERS " == *" $need "* ]]; then servers+=${servers:+,}$need; fi
    shift
  done
  shift
  # Most tests wait for a clock most of their time, so more of them run at once than there are cores.
  export NEXTEST_TEST_THREADS=${NEXTEST_TEST_THREADS:-$(($(processors) * 4))}
  local runner=(cargo nextest run "${SELECTION[@]}" --no-tests fail)
  if [[ -n $servers ]]; then runner=(infra/servers.sh run --only "$servers" -- "${runner[@]}"); fi
  run_until_end "${runner[@]}" "$@"
}

# Prints what took long and what was tried once more, also for the end of `.ci/run`.
report_suites() {
  local junit report
  junit=$(cargo_output)/nextest/$profile/junit.xml
  [[ -f $junit ]] || return 0
  report=$("$(need_python)" infra/suite_times.py "$steps" "$junit" infra/durations.txt)
  [[ -n $report ]] || return 0
  printf '%s\n' "$report" >&2
  printf '%s\n' "$report" >>"${VESTIBULE_REPORT:-/dev/null}"
}

# Runs what needs the Docker engine, if one answers, and says what is left out otherwise.
run_in_containers() {
  if have docker && docker info >/dev/null 2>&1; then
    run_until_end infra/image.sh test || return
    run_until_end infra/test-sam.sh || return # It runs what `make sam-local` does.
  else
    say "not run, because no container engine answers: make image, make sam-local and make test-sam" 2>&1 |
      tee -a "${VESTIBULE_REPORT:-/dev/null}" >&2
  fi
}

# Runs one suite, with nothing that it does not need.
run_suite() { # SUITE [ARGUMENT of the test runner]...
  local suite=$1 needs
  shift
  case $suite in
    client) run_until_end infra/client.sh test ;;
    browser) run_until_end infra/browser.sh "$@" ;;
    stack) run_until_end infra/test-stack.sh "$@" ;;
    *)
      # shellcheck disable=SC2119 # It keeps none.
      forget_aws_account
      if needs=$(needs_of "$suite"); then
        # shellcheck disable=SC2086 # Several words.
        install_tools $needs
        if [[ " $needs " == *" programs "* ]]; then
          run_until_end cargo build "${SELECTION[@]}" --bins
          name_programs
          note_calls
        fi
        if [[ " $needs" =~ \ (slice-[1-4]) ]]; then profile=${BASH_REMATCH[1]}; fi
        # shellcheck disable=SC2086
        run_tests $needs -- --profile "$profile" --test "$suite" "$@"
      elif cargo metadata --no-deps --format-version 1 | grep -qF "\"name\":\"vestibule-$suite\""; then
        need_nextest
        run_until_end cargo nextest run --package "vestibule-$suite" --locked --no-tests fail "$@"
      else
        fail "there is no suite or crate '$suite'. The suites are client, browser and those of infra/suites.txt."
      fi
      ;;
  esac
}

steps='some tests' profile=default
case ${1:-} in
  '') steps='test' ;;
  --slice)
    [[ ${2:-} == [1-4] ]] || usage
    steps=slice-$2 profile=slice-$2
    shift 2
    ;;
  --longest)
    steps=longest profile=longest
    shift
    ;;
  --suite)
    [[ -n ${2:-} ]] || usage
    need_cargo
    run_suite "${@:2}"
    exit
    ;;
esac

# shellcheck disable=SC2119 # It keeps none.
forget_aws_account
require_for test
need_cargo
case $steps in slice-2 | longest) plan_steps "$steps" 4 ;; *) plan_steps "$steps" 3 ;; esac
step "the tools and servers"
# shellcheck disable=SC2086
install_tools $SERVERS $TOOLS
step "the build of all tests and programs"
run_until_end cargo build "${SELECTION[@]}" --all-targets
name_programs
note_calls

step "the tests"
status=0
# shellcheck disable=SC2086
run_tests $SERVERS -- --profile "$profile" "$@" || status=$?
if [[ $steps == test && $status == 0 ]]; then compare_calls; fi
report_suites
if [[ $steps == slice-2 ]]; then
  step "the deployed stack"
  run_until_end infra/test-stack.sh || status=$?
elif [[ $steps == longest ]]; then
  step "what runs in containers"
  run_in_containers || status=$?
fi
end_steps
exit "$status"
