#!/usr/bin/env bash
#
# Builds every function as AWS runs it, and says how large each one is.
#
#   infra/build.sh                   for arm64, which template.yaml deploys unless told otherwise
#   ARCHITECTURE=x86_64 infra/build.sh
#
# Each is then at target/lambda/NAME/bootstrap. `sam build` does the same by itself on the way to a deployment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

case ${ARCHITECTURE:=arm64} in
  arm64) target=aarch64-unknown-linux-gnu ;;
  x86_64) target=x86_64-unknown-linux-gnu ;;
  *) fail "ARCHITECTURE is '$ARCHITECTURE'; Lambda has arm64 and x86_64" ;;
esac

need_cargo_lambda
python=$(need_python)
need_rust_target "$target"
cargo lambda build --locked --release --package functions "--${ARCHITECTURE/x86_64/x86-64}"

# Zipped as SAM zips it: at zlib's default level. Binary megabytes, as Lambda counts them.
"$python" - "${CARGO_TARGET_DIR:-target}/lambda" <<'PYTHON'
import pathlib, sys, zlib

print(f"{'function':<12}{'binary MB':>10}{'zipped MB':>10}")
for bootstrap in sorted(pathlib.Path(sys.argv[1]).glob("*/bootstrap")):
    data = bootstrap.read_bytes()
    sizes = (len(data), len(zlib.compress(data)))
    print(f"{bootstrap.parent.name:<12}" + "".join(f"{size / 2**20:>10.2f}" for size in sizes))
PYTHON
