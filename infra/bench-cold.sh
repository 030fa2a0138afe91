#!/usr/bin/env bash
#
# Measures the functions as they are deployed: the time of a cold start, the memory and the size.
#
#   infra/bench-cold.sh             builds the functions for this machine's processor, which takes minutes, and measures them
#   infra/bench-cold.sh FOLDER      measures an earlier build in FOLDER/FUNCTION/bootstrap
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

readonly FUNCTIONS="document enter claim status validate authorizer promoter admin"

need_cargo
need_redis
python=$(need_ministack) || exit 1
sam=$(need_sam) || exit 1
case $(uname -m) in
  x86_64) architecture=x86_64 ;;
  aarch64 | arm64) architecture=arm64 ;;
  *) fail "the runtime emulator runs on x86_64 and arm64, and this is $(uname -m)" ;;
esac
for emulator in "$sam"/../lib/python3.*/site-packages/samcli/local/rapid/aws-lambda-rie-"$architecture"; do :; done
[[ -f $emulator ]] || fail "aws-sam-cli has no runtime emulator for $architecture"

plan_steps bench-cold 2
step "the build of the functions, as for a deployment"
built=${1:-$(cargo_output)/lambda}
if [[ $# == 0 ]]; then
  need_cargo_lambda
  # The build runs in the folder of the package, as with `sam build`.
  (cd functions && cargo lambda build --release --locked) >&2
fi
# A debug build of the benchmark is enough: the figures come from the emulator and the kernel.
run_until_end cargo build --locked --package vestibule-tests --bin bench-cold

step "the measurement"
work=$(mktemp -d "${TMPDIR:-/tmp}/vestibule-cold.XXXXXX")
trap 'rm -rf "$work"' EXIT
install -m 755 "$emulator" "$work/emulator"
for name in $FUNCTIONS; do
  [[ -f $built/$name/bootstrap ]] || fail "$built/$name/bootstrap is missing"
  mkdir "$work/$name"
  install -m 755 "$built/$name/bootstrap" "$work/$name/bootstrap"
  # Compressed as SAM does it.
  (cd "$work/$name" && "$python" -c '
import zipfile
with zipfile.ZipFile("bootstrap.zip", "w", zipfile.ZIP_DEFLATED) as package:
    package.write("bootstrap")')
done

run_until_end infra/servers.sh run --only redis,dynamodb -- "$(cargo_target)/debug/bench-cold" "$work" "$work/emulator"
end_steps
