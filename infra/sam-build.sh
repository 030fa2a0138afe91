#!/usr/bin/env bash
#
# Builds the functions and packages template.yaml with them, for `sam deploy` and `sam local`.
#
#   infra/sam-build.sh [x86_64|arm64] [--fast]
#
# The last line on stdout is the path of the built template.
#
#   (default)   builds for deployment: the release profile with fat LTO, in .aws-sam/build, where `sam deploy` looks
#   --fast      builds for tests, in a fraction of the time: no LTO and little optimization, in .aws-sam/fast
#
# The default processor is arm64, as in the template. TEMPLATE=FILE builds another template.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

architecture=arm64 directory=.aws-sam/build
for argument in "$@"; do
  case $argument in
    x86_64 | arm64) architecture=$argument ;;
    --fast) directory=.aws-sam/fast ;;
    *) fail "usage: infra/sam-build.sh [x86_64|arm64] [--fast]" ;;
  esac
done
template=${TEMPLATE:-template.yaml}

need_cargo
sam=$(need_sam)/sam
need_cargo_lambda
export SAM_CLI_TELEMETRY=0
if [[ $directory == .aws-sam/fast ]]; then
  # `sam build` supports the release profile only, so --fast changes that profile.
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1
fi

# Builds all functions at once and shows cargo's progress. `sam build` then builds each function and finds it up to
# date. It names the target only for arm64, so this command does the same: with another target name cargo would build
# again.
target=()
if [[ $architecture == arm64 ]]; then target=(--arm64); fi
(cd functions && cargo lambda build --release --locked ${target[@]+"${target[@]}"}) >&2

# Prints the output of `sam build` only if it fails. Otherwise it contains advice only.
if ! output=$("$sam" build --template "$template" --build-dir "$directory" \
  --parameter-overrides "Architecture=$architecture" 2>&1); then
  printf '%s\n' "$output" >&2
  fail "sam build failed. See its messages above."
fi
printf '%s\n' "$directory/template.yaml"
