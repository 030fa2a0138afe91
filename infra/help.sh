#!/usr/bin/env bash
#
# Prints the commands of a Makefile in groups, each with how long it takes if that is known: a line `##@ GROUP` begins a group,
# and the text after `##` says what a command does.
#
#   infra/help.sh Makefile
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

while IFS= read -r line; do
  if [[ $line == '##@ '* ]]; then
    printf '\n%s\n' "${line#\#\#@ }"
  elif [[ $line =~ ^([a-z-]+):[^#]*'## '(.*)$ ]]; then
    name=${BASH_REMATCH[1]} text=${BASH_REMATCH[2]}
    usual=$(usual_seconds "$name" all)
    if [[ -n $usual ]]; then text+=". $(show_seconds "${usual%% *}") ${usual#* }"; fi
    printf '%s\n' "$text" | fold -s -w 90 | {
      IFS= read -r first
      printf '  make %-22s%s\n' "$name" "$first"
      while IFS= read -r next; do printf '  %-27s%s\n' '' "$next"; done
    }
  fi
done <"$1"
