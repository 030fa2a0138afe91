#!/usr/bin/env bash
#
# Builds the console of operators for a deployed stack, and serves it on this machine, with your own AWS credentials.
#
#   STACK=shop infra/operate.sh        on port 8090, at the address that it prints; PORT takes another port
#
# The credentials and the region are those that the AWS CLI uses: AWS_PROFILE, AWS_REGION, a login by SSO and so on.
# AWS_ENDPOINT_URL names an emulator.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

[[ -n ${STACK:-} ]] || fail "name the stack: make operate STACK=shop"
need_cargo
program=$(cargo_target)/local/vestibule-stack-console
if [[ -x $program ]]; then
  run_until_end cargo build --profile local --locked --package vestibule-stack-console
else
  plan_steps operate 2
  step "the first build: 200 crates"
  run_until_end cargo build --profile local --locked --package vestibule-stack-console
  step "the start"
fi
exec "$program" "$STACK"
