#!/usr/bin/env bash
#
# Builds the rehearsal of a sale, and runs it: a bounded crowd of visitors against a deployment, and a report.
#
#   URL=http://127.0.0.1:8080 infra/rehearse.sh                   against `make run`, with a queue of its own
#   URL=… VISITORS=5000 infra/rehearse.sh --checks 2              options go to the program; --help lists them
#   STACK=shop infra/rehearse.sh --allow-remote HOST…             against a stack, with your own AWS credentials. The AWS CLI
#                                                                 reads the addresses and the admin function from its outputs
#
# A host that is not this machine must be named in --allow-remote.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

url=${URL:-}
options=()
[[ -z ${VISITORS:-} ]] || options+=(--visitors "$VISITORS")
[[ -z ${QUEUE:-} ]] || options+=(--queue "$QUEUE")
case " $* " in *' --help '* | *' -h '*) url=${url:-http://127.0.0.1:8080} ;; esac
if [[ -n ${STACK:-} ]]; then
  have aws || fail "STACK needs the AWS CLI, which reads the outputs of the stack. Or give URL and --admin-function."
  outputs=$(aws cloudformation describe-stacks --stack-name "$STACK" --output text \
    --query 'Stacks[0].Outputs[].[OutputKey,OutputValue]')
  output() { awk -v name="$1" '$1 == name { print $2 }' <<<"$outputs"; }
  page=$(output WaitingRoomUrl) api=$(output ApiUrl)
  url=${url:-${page:-$api}}
  options+=(--service-url "$api" --admin-function "$(output AdminFunction)")
fi
[[ -n $url ]] || fail "name the deployment: make rehearse URL=http://127.0.0.1:8080, or STACK=shop"

need_cargo
program=$(cargo_target)/local/vestibule-rehearse
if [[ -x $program ]]; then
  run_until_end cargo build --profile local --locked --package vestibule-rehearse
else
  plan_steps rehearse 2
  step "the first build: 200 crates"
  run_until_end cargo build --profile local --locked --package vestibule-rehearse
  step "the rehearsal"
fi
# Each visitor whose poll is held has a connection.
raise_open_files
exec "$program" --url "$url" ${options[@]+"${options[@]}"} "$@"
