#!/usr/bin/env bash
#
# Deploys template.yaml, with the functions that the other tests use, and the sample API of examples/protected-api to an
# emulator of AWS, and sends visitors through the deployed APIs.
#
#   infra/test-stack.sh
#   AWS_ENDPOINT_URL=http://127.0.0.1:4566 STACK_REDIS_URL=redis://valkey:6379 infra/test-stack.sh
#
# Without AWS_ENDPOINT_URL it starts MiniStack and a Redis, and stops them at the end. With AWS_ENDPOINT_URL it uses a
# running emulator, such as the LocalStack of infra/compose.yaml, and builds the functions with `sam build`, because its
# containers may have an older C library. STACK_REDIS_URL is then the address of Redis for the functions, and
# TEST_REDIS_URL (redis://127.0.0.1:6379) the one for this machine. Arguments go to the test runner.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

readonly STACK=vestibule-test SAMPLE_STACK=vestibule-test-sample REGION=us-east-1

# The deployed template is the same as for an AWS account. Its condition OnAws leaves out what emulators lack.
emulator_parameters() {
  printf '%s\n' "Emulator=yes" "Size=sale" "RedisUrl=$redis_url" "Architecture=$architecture" "CorsOrigins=$TEST_CORS_ORIGIN" \
    "EventBusName=$TEST_EVENT_BUS" \
    "AuthorizerQueues=protected-*" "AuthorizerSeconds=600" # So slow that no call comes back during a test.
}

case $(uname -m) in
  arm64 | aarch64) architecture=arm64 ;;
  *) architecture=x86_64 ;;
esac

# The selection of infra/test.sh, so nothing is compiled with other features.
readonly SELECTION=(--workspace --locked)
# The cases of the HTTP suite run against the deployed API.
runner=(cargo nextest run "${SELECTION[@]}" --profile stack --ignore-default-filter -E 'binary(stack) or binary(http)')

need_cargo
need_nextest
programs=$(cargo_target)/debug

# Packages the functions that are built for the tests: a folder with the program, and the template with the names of these
# folders. MiniStack runs functions as processes of this machine. Their debug information would only be copied.
package_functions() { # FOLDER
  local folder=$1 name
  rm -rf "$folder"
  sed -n 's/.*BuildProperties: { Binary: \([a-z]*\) }.*/\1/p' template.yaml | while read -r name; do
    mkdir -p "$folder/$name"
    strip -S -o "$folder/$name/bootstrap" "$programs/$name"
  done
  # The paths of the template are relative to its folder.
  sed -e 's|Location: infra/|Location: ../../infra/|' -e '/^    CodeUri: /d' template.yaml | awk '
    { print }
    /BuildProperties: [{] Binary: / { name = $4 }
    /^    Properties:/ && name != "" { print "      CodeUri: " name; name = "" }' >"$folder/template.yaml"
}

if [[ ${1:-} != --deploy ]]; then
  plan_steps "test-stack build" 3
  step "the tools"
  need_sam >/dev/null # Before the long compilation, so that a tool that cannot be installed fails the run at once.
  need_ministack >/dev/null
  step "the functions and the suites"
  run_until_end cargo build "${SELECTION[@]}" --bins
  run_until_end "${runner[@]}" --no-run
  step "the packages"
  if [[ -z ${AWS_ENDPOINT_URL:-} ]]; then
    package_functions .aws-sam/tests
    end_steps
    exec infra/servers.sh run --only redis,aws -- infra/test-stack.sh --deploy .aws-sam/tests/template.yaml "$@"
  fi
  template=$(infra/sam-build.sh "$architecture" --fast | tail -n 1)
  end_steps
  emulator_domain=localhost.localstack.cloud # DNS resolves this name to this machine.
else
  template=$2
  shift 2
  emulator_domain=localhost
fi

export VESTIBULE_STACK_CONSOLE_BIN=$programs/vestibule-stack-console
export VESTIBULE_REHEARSE_BIN=$programs/vestibule-rehearse
export VESTIBULE_PREFLIGHT_BIN=$programs/vestibule-preflight
export TEST_EVENT_BUS=default TEST_CORS_ORIGIN=https://shop.example TEST_API_SIGNED=yes TEST_GATEWAY=ministack
export TEST_REDIS_URL=${TEST_REDIS_URL:-redis://127.0.0.1:6379}
redis_url=${STACK_REDIS_URL:-$TEST_REDIS_URL}
sam=$(need_sam)/sam
export SAM_CLI_TELEMETRY=0 AWS_REGION=$REGION AWS_DEFAULT_REGION=$REGION
export AWS_ACCESS_KEY_ID=${AWS_ACCESS_KEY_ID:-test} AWS_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY:-test}

parameters=()
while IFS= read -r parameter; do parameters+=("$parameter"); done < <(emulator_parameters)
deploy() { # STACK TEMPLATE PARAMETER...
  local stack=$1 template=$2 started_at=$SECONDS
  shift 2
  "$sam" deploy --template-file "$template" --stack-name "$stack" --region "$REGION" --resolve-s3 \
    --capabilities CAPABILITY_IAM --no-confirm-changeset --no-fail-on-empty-changeset --no-progressbar \
    --parameter-overrides "$@" >&2
  say "deployed $stack after $((SECONDS - started_at)) s"
}
outputs() { # STACK
  "$sam" list stack-outputs --stack-name "$1" --region "$REGION" --output json
}
output() { # NAME, from the outputs on stdin
  "$(need_python)" -c '
import json, sys
print(*(o["OutputValue"] for o in json.load(sys.stdin) if o["OutputKey"] == sys.argv[1]))' "$1"
}
# Replaces an AWS address https://ID.execute-api.REGION.amazonaws.com/STAGE by the emulator's.
emulator_url() { # URL
  local host=${1#*://}
  local stage=${host#*/}
  [[ $host == */* ]] || stage=
  printf 'http://%s.execute-api.%s:%s%s\n' "${host%%.*}" "$emulator_domain" "${AWS_ENDPOINT_URL##*:}" "${stage:+/$stage}"
}

plan_steps test-stack 3
step "the deployment of $STACK"
deploy "$STACK" "$template" "${parameters[@]}"
TEST_STACK_OUTPUTS=$(outputs "$STACK")
export TEST_STACK_OUTPUTS TEST_STACK_NAME=$STACK
TEST_API_URL=$(emulator_url "$(output ApiUrl <<<"$TEST_STACK_OUTPUTS")")
export TEST_API_URL

# The API of a shop behind the authorizer.
step "the deployment of $SAMPLE_STACK"
deploy "$SAMPLE_STACK" examples/protected-api/template.yaml \
  "AuthorizerFunctionArn=$(output AuthorizerFunctionArn <<<"$TEST_STACK_OUTPUTS")"
sample_outputs=$(outputs "$SAMPLE_STACK")
TEST_SAMPLE_REST_URL=$(emulator_url "$(output RestUrl <<<"$sample_outputs")")
TEST_SAMPLE_HTTP_URL=$(emulator_url "$(output HttpUrl <<<"$sample_outputs")")
export TEST_SAMPLE_REST_URL TEST_SAMPLE_HTTP_URL

export TEST_DYNAMODB_URL=$AWS_ENDPOINT_URL
TEST_QUEUES_TABLE=$(output QueuesTable <<<"$TEST_STACK_OUTPUTS")
TEST_ENTRIES_TABLE=$(output EntriesTable <<<"$TEST_STACK_OUTPUTS")
export TEST_QUEUES_TABLE TEST_ENTRIES_TABLE

step "the suites"
run_until_end "${runner[@]}" "$@"
end_steps
