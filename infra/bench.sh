#!/usr/bin/env bash
#
# Builds a benchmark and what it measures, and runs it with the servers that it needs. Arguments go to the benchmark.
#
#   infra/bench.sh                                      lists the benchmarks
#   infra/bench.sh line                                 prints the figures of one
#   infra/bench.sh line --help                          lists its options
#   infra/bench.sh line --against PATH [--rounds 9]     compares this build with the earlier build PATH of the program `bench`:
#                                                       both run by turns, and each figure is printed as a ratio, NAME_vs_old.
#                                                       The programs of the earlier build are beside PATH
#   FUNCTION_MB=1024 infra/bench.sh restore             gives the process the share of a CPU that a Lambda function of this memory
#                                                       has (one vCPU per 1,769 MB), by a control group; this needs root
#   VESTIBULE_FUNCTIONS_DIR=FOLDER infra/bench.sh cold  measures the functions in FOLDER/FUNCTION/bootstrap, and builds none
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

readonly OPEN_FILES_MIN=11000 # Ten thousand connections and the other open files of a process.

# Each benchmark with its servers, and the packages whose programs it starts.
readonly BENCHMARKS="\
attack redis vestibule-local
cold redis,dynamodb -
crowd redis vestibule-local
fair redis -
fallback-ticks redis -
line redis vestibule-local
queues redis -
requests redis,dynamodb functions,vestibule-local
restore redis,dynamodb -
wake redis -"

names() { cut -d ' ' -f 1 <<<"$BENCHMARKS" | tr '\n' ' '; }

# Installs what is missing before the compilation, which takes minutes.
install_tools() {
  need_cargo
  need_redis
  if [[ $servers == *dynamodb* ]]; then need_ministack >/dev/null; fi
  case $name in
    attack | crowd)
      VESTIBULE_NGINX=$(need_nginx)
      export VESTIBULE_NGINX
      ;;
    cold)
      VESTIBULE_LAMBDA_EMULATOR=$(need_lambda_emulator)
      export VESTIBULE_LAMBDA_EMULATOR
      ;;
  esac
}

build() {
  local package selection=()
  # A build of its own: a single one would also give these programs the features that only tests enable.
  for package in ${packages//,/ }; do
    if [[ $package != - ]]; then selection+=(--package "$package"); fi
  done
  if ((${#selection[@]})); then run_until_end cargo build --profile local --locked "${selection[@]}"; fi
  run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench --bin empty_function
  export VESTIBULE_LOCAL_BIN=$programs/vestibule-local
  if [[ $name == cold && -z ${VESTIBULE_FUNCTIONS_DIR:-} ]]; then
    need_cargo_lambda
    # As for a deployment. The build runs in the folder of the package, as with `sam build`.
    (cd functions && run_until_end cargo lambda build --release --locked) >&2
    VESTIBULE_FUNCTIONS_DIR=$(cargo_output)/lambda
  fi
  export VESTIBULE_FUNCTIONS_DIR=${VESTIBULE_FUNCTIONS_DIR:-$programs}
}

# Makes a control group with the share of a CPU that a function of FUNCTION_MB gets.
make_cpu_group() {
  local quota_us=$((FUNCTION_MB * 100000 / 1769))
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
}

name=${1:-}
if [[ -z $name ]]; then
  say "name a benchmark: make bench NAME=line. The benchmarks are $(names)"
  exit
fi
shift
read -r _ servers packages <<<"$(grep "^$name " <<<"$BENCHMARKS" || true)"
[[ -n $servers ]] || fail "there is no benchmark '$name'. The benchmarks are $(names)"
programs=$(cargo_target)/local
case " $* " in
  *' --help '* | *' -h '*)
    need_cargo
    run_until_end cargo build --profile local --locked --package vestibule-tests --bin bench
    exec "$programs/bench" "$name" --help
    ;;
esac

plan_steps "bench-$name" 2
step "the tools and the build"
install_tools
build

# Each request of a crowd has two connections, which count at both ends.
raise_open_files
[[ $name != wake || $(ulimit -n) == unlimited ]] || (($(ulimit -n) >= OPEN_FILES_MIN)) ||
  fail "the limit of open files is too low: raise the hard limit of \`ulimit -n\` to $OPEN_FILES_MIN"
if [[ -n ${FUNCTION_MB:-} ]]; then make_cpu_group; fi
step "the measurement"
# The functions log the metrics of each request, which are of no use here.
run_until_end infra/servers.sh run --only "$servers" -- "$programs/bench" "$name" "$@" \
  2> >(grep --line-buffered -v '"_aws"' >&2)
end_steps
