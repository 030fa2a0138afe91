#!/usr/bin/env bash
#
# Builds the functions and packages template.yaml with them, as `sam deploy` and `sam local` want it.
#
#   infra/sam-build.sh [x86_64|arm64] [--fast]
#
# The last line on stdout is the path of the built template. Without --fast it is what is deployed: the release profile,
# fat LTO, in .aws-sam/build, where `sam deploy` looks. With --fast it is for trying things: no LTO and little optimizing,
# in .aws-sam/fast, a fraction of the time. Without a processor it is arm64, as the template's own default.
# TEMPLATE=FILE builds another template.
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

sam=$(need_sam)/sam
need_cargo_lambda
export SAM_CLI_TELEMETRY=0
if [[ $directory == .aws-sam/fast ]]; then
  # The builder of `sam build` knows the release profile alone, so that is made quick to build.
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1
fi

# All at once, with cargo's progress to be seen. `sam build` then asks for each function by itself and finds it built; it
# names the target for arm64 alone, and so must this: another name is another build.
target=()
if [[ $architecture == arm64 ]]; then target=(--arm64); fi
(cd functions && cargo lambda build --release --locked ${target[@]+"${target[@]}"}) >&2

# What it says besides is advice, and of use where it failed.
if ! said=$("$sam" build --template "$template" --build-dir "$directory" \
  --parameter-overrides "Architecture=$architecture" 2>&1); then
  printf '%s\n' "$said" >&2
  fail "sam build failed. Its own messages are above."
fi
printf '%s\n' "$directory/template.yaml"
