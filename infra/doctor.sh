#!/usr/bin/env bash
#
# Prints what `make run`, `make check` and `make test` need, which version of it is here, and how to get what is missing.
# Installs nothing. Fails if something is missing that the scripts cannot install by themselves.
#
#   infra/doctor.sh            for all three
#   infra/doctor.sh run        for one of them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

for command in "$@"; do
  [[ " run check test " == *" $command "* ]] || fail "usage: infra/doctor.sh [run|check|test]..."
done
(($# > 0)) || set -- run check test
print_tools "$@" || fail "something is missing. Install it as the table says, and run this again."
