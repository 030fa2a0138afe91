#!/usr/bin/env bash
#
# Measures how long the restore of a lost Redis takes, on a Redis and a DynamoDB emulator of its own. The argument is the
# number of entries. With FUNCTION_MB=1024, the process that restores gets the share of a CPU that a Lambda function of
# this memory has (one vCPU per 1,769 MB), by a control group; this needs root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

need_cargo
need_redis
need_ministack >/dev/null

plan_steps bench-restore 2
step "the build"
run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench-restore

binaries=$(cargo_target)/local
if [[ -n ${FUNCTION_MB:-} ]]; then
  quota_us=$((FUNCTION_MB * 100000 / 1769))
  if [[ -f /sys/fs/cgroup/cgroup.controllers ]]; then
    CPU_GROUP=/sys/fs/cgroup/vestibule-bench-$$
    mkdir "$CPU_GROUP"
    echo "$quota_us 100000" >"$CPU_GROUP/cpu.max"
  else
    CPU_GROUP=/sys/fs/cgroup/cpu/vestibule-bench-$$
    mkdir "$CPU_GROUP"
    echo 100000 >"$CPU_GROUP/cpu.cfs_period_us"
    echo "$quota_us" >"$CPU_GROUP/cpu.cfs_quota_us"
  fi
  export CPU_GROUP
  trap 'rmdir "$CPU_GROUP"' EXIT
fi
step "the measurement"
run_until_end infra/servers.sh run --only redis,dynamodb -- "$binaries/bench-restore" "$@"
end_steps
