#!/usr/bin/env bash
#
# Writes the lock files of the Python packages, with the hashes of all files of each release, so that they install on
# every system and processor. Without arguments, versions that are locked stay, as far as the .in files allow.
#
#   infra/lock-python.sh                   after a change of infra/python/*.in or examples/fastapi/requirements.in
#   infra/lock-python.sh --upgrade         takes the newest version of all packages that no .in file pins
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

need_environment uv
for list in infra/python/*.in examples/fastapi/requirements.in; do
  lock=${list%.in}.txt
  # In its folder, so that the comments of the lock file name the list without a path.
  (cd "$(dirname "$list")" && "$tools_dir/uv/bin/uv" pip compile --quiet --universal --generate-hashes --no-header \
    --python-version "${PYTHON_MINIMUM/, /.}" "$@" "$(basename "$list")" --output-file "$(basename "$lock")")
  say "wrote $lock"
done
