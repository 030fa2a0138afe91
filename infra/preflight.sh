#!/usr/bin/env bash
#
# Builds the preflight, and asks the account and a deployed stack whether they are ready for a sale, with your own AWS
# credentials. It changes nothing.
#
#   STACK=shop infra/preflight.sh
#   STACK=shop infra/preflight.sh --visitors 1000000 --arrival-seconds 1800 --wait-minutes 30
#
# The credentials and the region are those that the AWS CLI uses: AWS_PROFILE, AWS_REGION, a login by SSO and so on.
# AWS_ENDPOINT_URL names an emulator. It exits with 0 if there is no fault, with 1 if there is one, and with 2 if it could
# not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

if [[ -z ${STACK:-} ]]; then
  say "name the stack: make preflight STACK=shop"
  exit 2
fi
(need_cargo) || exit 2
need_cargo
run_until_end cargo build --profile local --locked --package vestibule-preflight || exit 2
exec "$(cargo_target)/local/vestibule-preflight" "$STACK" "$@"
