#!/usr/bin/env bash
#
# The checks of `make check` that need other tools than Rust's. Installs what is missing.
#
#   infra/check.sh dependencies   licences, versions and sources of the crates, and known vulnerabilities
#   infra/check.sh template       the templates
#   infra/check.sh scripts FILE...
#
# The database of vulnerabilities (advisories) is a git repository, which closed networks block. Without it the check says
# so and goes on. ADVISORIES=required fails instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

DATABASE_DAYS_MAX=90 # An older copy says too little. cargo-deny refuses it, too.

check_dependencies() {
  local deny
  deny=$(need_cargo_deny)
  "$deny" --locked check licenses bans sources
  check_advisories "$deny"
}

# Fetches the database first, with a time limit, so that an unreachable database does not look like a vulnerability.
check_advisories() { # CARGO_DENY
  local database published days origin="fetched just now"
  if ! GIT_TERMINAL_PROMPT=0 bounded 60 "$1" --locked fetch db >/dev/null 2>&1; then
    origin="a copy, because the database could not be fetched"
  fi
  database=$(find_advisories)
  if [[ -z $database ]]; then
    without_advisories "there is no copy of their database, and it could not be fetched (cargo deny fetch db shows why)"
    return
  fi
  published=$(git -C "$database" log -1 --format=%ct)
  days=$((($(date +%s) - published) / 86400))
  say "the newest advisory is of $days days ago ($(git -C "$database" log -1 --format=%cs); $origin)"
  if ((days > DATABASE_DAYS_MAX)); then
    without_advisories "the copy of their database is older than $DATABASE_DAYS_MAX days"
    return
  fi
  "$1" --locked --offline check advisories
}

# Prints the folder of the database that cargo-deny has fetched last, or nothing.
find_advisories() {
  local folder newest=""
  for folder in "${CARGO_HOME:-$HOME/.cargo}"/advisory-dbs/*/; do
    if git -C "$folder" rev-parse --verify --quiet HEAD >/dev/null 2>&1 && [[ -z $newest || $folder -nt $newest ]]; then
      newest=$folder
    fi
  done
  printf '%s' "$newest"
}

without_advisories() { # REASON
  if [[ ${ADVISORIES:-} == required ]]; then fail "advisories are required, but $1"; fi
  say "advisories NOT checked: $1"
  echo "advisories=not checked" >>"${VESTIBULE_REPORT:-/dev/null}"
}

# The tools need no AWS account, but require a region.
check_template() {
  local bin checkov template
  bin=$(need_sam)
  checkov=$(need_checkov)
  export AWS_DEFAULT_REGION=us-east-1
  for template in template.yaml examples/protected-api/template.yaml; do
    SAM_CLI_TELEMETRY=0 "$bin/sam" validate --lint --template "$template" >&2
  done
  check_processed_template "$bin"
  CKV_SKIP_PACKAGE_UPDATE_CHECK=true "$checkov" --config-file infra/checkov.yaml --file template.yaml
}

# CloudFormation includes the API document and runs the Serverless transform before it reads the template.
check_processed_template() { # FOLDER_OF_SAM
  local processed
  processed=$(cargo_output)/processed-template.json
  mkdir -p "${processed%/*}"
  "$1/python" infra/process_template.py template.yaml >"$processed"
  "$1/cfn-lint" "$processed"
}

check_scripts() { # SCRIPT...
  local shellcheck
  shellcheck=$(need_shellcheck)
  "$shellcheck" --external-sources "$@"
}

case ${1:-} in
  dependencies | template) "check_$1" ;;
  scripts) check_scripts "${@:2}" ;;
  *) fail "usage: infra/check.sh dependencies|template|scripts FILE..." ;;
esac
