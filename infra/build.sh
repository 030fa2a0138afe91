#!/usr/bin/env bash
#
# Builds every function for AWS, and prints the size of each.
#
#   infra/build.sh                   for arm64, the default of template.yaml
#   ARCHITECTURE=x86_64 infra/build.sh
#
# The binaries are in target/lambda/NAME/bootstrap. A deployment does not need this script: `sam build` builds them too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

case ${ARCHITECTURE:=arm64} in
  arm64) target=aarch64-unknown-linux-gnu ;;
  x86_64) target=x86_64-unknown-linux-gnu ;;
  *) fail "ARCHITECTURE is '$ARCHITECTURE'. Set it to arm64 or x86_64." ;;
esac

plan_steps build 3
step "the tools"
need_cargo
need_cargo_lambda
python=$(need_python)
need_rust_target "$target"
step "the functions for $ARCHITECTURE, with all optimizations"
run_until_end cargo lambda build --locked --release --package functions "--${ARCHITECTURE/x86_64/x86-64}"

step "the sizes"
# Compresses at zlib's default level, as SAM does. Lambda counts binary megabytes (2^20 bytes).
"$python" - "$(cargo_output)/lambda" <<'PYTHON'
import pathlib, sys, zlib

print(f"{'function':<12}{'binary MB':>10}{'zipped MB':>10}")
for bootstrap in sorted(pathlib.Path(sys.argv[1]).glob("*/bootstrap")):
    data = bootstrap.read_bytes()
    sizes = (len(data), len(zlib.compress(data)))
    print(f"{bootstrap.parent.name:<12}" + "".join(f"{size / 2**20:>10.2f}" for size in sizes))
PYTHON
end_steps
