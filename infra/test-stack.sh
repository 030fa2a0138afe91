#!/usr/bin/env bash
#
# Builds template.yaml with `sam build`, deploys it to an emulator of AWS, and sends visitors through the deployed API.
#
#   infra/test-stack.sh
#   AWS_ENDPOINT_URL=http://127.0.0.1:4566 STACK_REDIS_URL=redis://valkey:6379 infra/test-stack.sh
#
# Without AWS_ENDPOINT_URL it starts MiniStack and a Redis, and stops them at the end. With AWS_ENDPOINT_URL it uses a
# running emulator, such as the LocalStack of infra/compose.yaml. STACK_REDIS_URL is then the address of Redis for the
# functions, and TEST_REDIS_URL (redis://127.0.0.1:6379) the one for this machine. Arguments go to the test runner.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

readonly STACK=vestibule-test REGION=us-east-1

# The deployed template is the same as for an AWS account. Its condition OnAws leaves out what emulators lack.
emulator_parameters() {
  printf '%s\n' "Emulator=yes" "RedisUrl=$redis_url" "Architecture=$architecture" "CorsOrigins=$TEST_CORS_ORIGIN"
}

case $(uname -m) in
  arm64 | aarch64) architecture=arm64 ;;
  *) architecture=x86_64 ;;
esac

suites=(--package vestibule-tests --locked --features stack --test stack --test http)
if cargo nextest --version >/dev/null 2>&1; then
  runner=(cargo nextest run "${suites[@]}")
else
  runner=(cargo test "${suites[@]}" --no-fail-fast)
fi

if [[ ${1:-} != --deploy ]]; then
  need_sam >/dev/null # Before the long compilation, so that a tool that cannot be installed fails the run at once.
  need_ministack >/dev/null
  infra/sam-build.sh "$architecture" --fast >/dev/null
  "${runner[@]}" --no-run
  [[ -n ${AWS_ENDPOINT_URL:-} ]] || exec infra/servers.sh run --only redis,aws -- infra/test-stack.sh --deploy "$@"
  emulator_domain=localhost.localstack.cloud # DNS resolves this name to this machine.
else
  shift
  emulator_domain=localhost
fi

export TEST_CORS_ORIGIN=https://shop.example TEST_API_SIGNED=yes TEST_GATEWAY=ministack
export TEST_REDIS_URL=${TEST_REDIS_URL:-redis://127.0.0.1:6379}
redis_url=${STACK_REDIS_URL:-$TEST_REDIS_URL}
sam=$(need_sam)/sam
export SAM_CLI_TELEMETRY=0 AWS_REGION=$REGION AWS_DEFAULT_REGION=$REGION
export AWS_ACCESS_KEY_ID=${AWS_ACCESS_KEY_ID:-test} AWS_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY:-test}

parameters=()
while IFS= read -r parameter; do parameters+=("$parameter"); done < <(emulator_parameters)
started_at=$SECONDS
"$sam" deploy --template-file .aws-sam/fast/template.yaml --stack-name "$STACK" --region "$REGION" --resolve-s3 \
  --capabilities CAPABILITY_IAM --no-confirm-changeset --no-fail-on-empty-changeset --no-progressbar \
  --parameter-overrides "${parameters[@]}" >&2
say "deployed after $((SECONDS - started_at)) s"

TEST_STACK_OUTPUTS=$("$sam" list stack-outputs --stack-name "$STACK" --region "$REGION" --output json)
export TEST_STACK_OUTPUTS TEST_STACK_NAME=$STACK
output() { # NAME
  "$(need_python)" -c '
import json, os, sys
print(*(o["OutputValue"] for o in json.loads(os.environ["TEST_STACK_OUTPUTS"]) if o["OutputKey"] == sys.argv[1]))' "$1"
}

# Replaces the AWS address https://ID.execute-api.REGION.amazonaws.com/STAGE by the emulator's.
api_url=$(output ApiUrl)
api_host=${api_url#*://}
export TEST_API_URL="http://${api_host%%.*}.execute-api.$emulator_domain:${AWS_ENDPOINT_URL##*:}/${api_host#*/}"
export TEST_DYNAMODB_URL=$AWS_ENDPOINT_URL
TEST_QUEUES_TABLE=$(output QueuesTable)
TEST_ENTRIES_TABLE=$(output EntriesTable)
export TEST_QUEUES_TABLE TEST_ENTRIES_TABLE

"${runner[@]}" "$@"
