#!/usr/bin/env bash
#
# Builds the local runner, says how long the first build takes, and runs it. Arguments go to the runner.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

require_for run
need_cargo
program=$(cargo_target)/local/vestibule-local
if [[ -x $program ]]; then
  run_until_end cargo build --profile local --locked --package vestibule-local
else
  plan_steps run 2
  step "the first build: 250 crates"
  run_until_end cargo build --profile local --locked --package vestibule-local
  step "the start"
fi
exec "$program" "$@"
