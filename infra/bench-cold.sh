#!/usr/bin/env bash
#
# Measures the functions as they are deployed: how they start, how much memory they take, how large they are.
#
#   infra/bench-cold.sh             builds them for this machine's processor, which takes minutes, and measures them
#   infra/bench-cold.sh FOLDER      measures what was built before, in FOLDER/FUNCTION/bootstrap
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

readonly FUNCTIONS="enter status validate promoter admin"

need_redis
python=$(need_ministack) || exit 1
sam=$(need_sam) || exit 1
case $(uname -m) in
  x86_64) architecture=x86_64 ;;
  aarch64 | arm64) architecture=arm64 ;;
  *) fail "the runtime emulator runs on x86_64 and arm64, and this is $(uname -m)" ;;
esac
for emulator in "$sam"/../lib/python3.*/site-packages/samcli/local/rapid/aws-lambda-rie-"$architecture"; do :; done
[[ -f $emulator ]] || fail "$SAM_PACKAGE brings no runtime emulator for $architecture"

target=${CARGO_TARGET_DIR:-$root/target}
built=${1:-$target/lambda}
if [[ $# == 0 ]]; then
  need_cargo_lambda
  # From the folder of the package, as `sam build` does it.
  (cd functions && cargo lambda build --release --locked) >&2
fi
# What measures need not be fast: the figures are the emulator's and the kernel's.
cargo build --locked --package vestibule-tests --bin bench-cold

work=$(mktemp -d "${TMPDIR:-/tmp}/vestibule-cold.XXXXXX")
trap 'rm -rf "$work"' EXIT
install -m 755 "$emulator" "$work/emulator"
for name in $FUNCTIONS; do
  [[ -f $built/$name/bootstrap ]] || fail "there is no $built/$name/bootstrap"
  mkdir "$work/$name"
  install -m 755 "$built/$name/bootstrap" "$work/$name/bootstrap"
  # As SAM packs it.
  (cd "$work/$name" && "$python" -c '
import zipfile
with zipfile.ZipFile("bootstrap.zip", "w", zipfile.ZIP_DEFLATED) as package:
    package.write("bootstrap")')
done

infra/servers.sh run --only redis,dynamodb -- "$target/debug/bench-cold" "$work" "$work/emulator"
