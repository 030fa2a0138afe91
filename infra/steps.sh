#!/usr/bin/env bash
#
# Runs commands one after the other, until one fails, and says before each how far it is and how long it takes.
#
#   infra/steps.sh NAME 'COMMAND ARGUMENT...'...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

(($# > 1)) || fail "usage: infra/steps.sh NAME 'COMMAND ARGUMENT...'..."
name=$1
shift
# Names all that is missing before the first step.
if [[ $name == check ]]; then
  require_for check
  need_cargo
fi
plan_steps "$name" $#
for command in "$@"; do
  step "$command"
  run_until_end bash -c "$command"
done
end_steps
