#!/usr/bin/env bash
#
# The API's document for other tools than API Gateway. Installs what is missing.
#
#   infra/openapi.sh render    writes the schemas of shared/wire into infra/openapi.yaml, docs/openapi.json and docs/commands.json,
#                              the reference of the commands, and the types of the web's scripts; all of them are committed
#   infra/openapi.sh check     whether they are valid and up to date
#   infra/openapi.sh build     puts openapi.json and the reference page, index.html, into target/api
#   infra/openapi.sh page      whether a browser shows the reference page
#   infra/openapi.sh clients   generates clients in Python and TypeScript, and sends visitors through the runner by them
#   infra/openapi.sh compiled  generates clients in Java and Go, compiles them, and lets them read answers of the runner
#   infra/openapi.sh fuzz      sends generated requests to the runner with Schemathesis. Arguments go to Schemathesis
#
# VESTIBULE_LOCAL_BIN names a runner that is built. Without it, this script builds one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

document=docs/openapi.json
# Where Debian has the jars of Java.
readonly JACKSON=/usr/share/java
output=$(cargo_output)/api

# A build of its own: the order of the schemas needs a feature of serde_json that the rest must not have.
use_document_tools() { # COMMAND
  need_environment openapi || exit 1
  need_cargo
  mkdir -p "$output"
  run_until_end cargo run --package vestibule-wire --locked --features schemas --quiet >"$output/schemas.json"
  "$tools_dir/openapi/bin/python" infra/openapi.py "$1" "$output/schemas.json" infra/openapi.yaml infra/openapi-plain.yaml "$document" &&
    "$tools_dir/openapi/bin/python" infra/commands.py "$1" "$output/schemas.json" docs/commands.json docs/commands-reference.md
}

# Installs the tools that generate clients and requests. Their programs call one another by name.
need_generators() {
  need_environment api || exit 1
  PATH=$tools_dir/api/bin:$PATH
}

render() {
  local node
  node=$(need_node)
  install_packages web/client
  use_document_tools render || exit 1
  "$node" web/client/wire.mjs
}

build() {
  local node
  node=$(need_node)
  install_packages infra/reference
  mkdir -p "$output"
  use_document_tools check || exit 1
  cp "$document" "$output/openapi.json"
  "$node" infra/reference/render.mjs "$output/openapi.json" >"$output/index.html"
  say "$output has openapi.json and the reference page, index.html"
}

# The width is that of a phone.
page() {
  local chromium
  chromium=$(need_chromium)
  build
  "$chromium" --headless --no-sandbox --disable-gpu --window-size=390,844 --virtual-time-budget=30000 --dump-dom \
    "file://$output/index.html" >"$output/rendered.html" 2>"$output/chromium.log" ||
    fail "Chromium did not render $output/index.html. $output/chromium.log says why."
  "$tools_dir/openapi/bin/python" tests/api/page.py "$output/openapi.json" "$output/index.html" "$output/rendered.html"
  rm "$output/rendered.html" "$output/chromium.log"
}

# Starts a runner on a free port, and sets VESTIBULE_API to its address.
start_runner() {
  if [[ -z ${VESTIBULE_LOCAL_BIN:-} ]]; then
    need_cargo
    run_until_end cargo build --workspace --locked --bin vestibule-local
    VESTIBULE_LOCAL_BIN=$(cargo_target)/debug/vestibule-local
  fi
  folder=$(mktemp -d)
  trap 'end_jobs 10; rm -rf "$folder"' EXIT
  : >"$folder/address"
  set -m
  "$VESTIBULE_LOCAL_BIN" --dir "$folder" --port 0 --demo-visitors 0 --quiet >"$folder/address" &
  set +m
  until VESTIBULE_API=$(grep -o -m 1 'http://[0-9.:]*' "$folder/address"); do
    [[ -n $(jobs -pr) ]] || fail "the runner ended. See its message above."
    sleep 0.1
  done
  export VESTIBULE_API
}

create_queue() { # QUEUE SETTINGS
  curl --silent --show-error --fail --output "$folder/created" "$VESTIBULE_API/_admin" \
    --header "Content-Type: application/json" --data "{\"op\": \"create\", \"queue\": \"$1\", \"settings\": $2}" ||
    fail "the runner did not create the queue $1."
}

clients() {
  local node packages=tests/api/node_modules queue
  node=$(need_node)
  need_generators
  install_packages tests/api
  start_runner
  for queue in python typescript; do create_queue "$queue" '{"capacity": 1, "batch": 1, "interval_seconds": 1}'; done

  rm -rf tests/api/build
  mkdir tests/api/build
  openapi-python-client generate --path "$document" --output-path tests/api/build/python --fail-on-warning
  PYTHONPATH=tests/api/build/python "$tools_dir/api/bin/python" tests/api/visit.py

  "$node" "$packages/openapi-typescript/bin/cli.js" "$document" --output tests/api/build/api.d.ts
  "$node" "$packages/typescript/bin/tsc" --project tests/api
  "$node" tests/api/build/visit.js
}

need_java() {
  have javac && [[ -e $JACKSON/jackson-databind.jar ]] && return
  have apt-get || fail "a compiler of Java and Jackson are missing. Install them, with the jars in $JACKSON, and run this again."
  apt_install default-jdk-headless libjackson2-databind-java
}

# Compilers of other languages tell 32 bits from 64, and an absent number from 0. The classes of Java need Jackson alone, and those
# of Go nothing.
compiled() {
  local build=tests/api/build generator go options
  need_java
  need_environment compiled || exit 1
  generator=$tools_dir/compiled/bin/openapi-generator-cli
  go=$tools_dir/compiled/bin/go
  start_runner
  rm -rf "$build/answers" "$build/java" "$build/go"
  "$tools_dir/compiled/bin/python" tests/api/record_answers.py

  "$generator" validate -i "$document" >&2
  options=modelTests=false,apiTests=false,modelDocs=false,apiDocs=false
  "$generator" generate --generator-name java --library native --input-spec "$document" --output "$build/java" \
    --model-package vestibule.model --global-property "models,$options" \
    --additional-properties openApiNullable=false,supportUrlQuery=false,containerDefaultToNull=true,useJakartaEe=false,hideGenerationTimestamp=true >&2
  javac -cp "$JACKSON/*" -d "$build/java/classes" tests/api/ReadAnswers.java "$build"/java/src/main/java/vestibule/model/*.java
  java -cp "$build/java/classes:$JACKSON/*" ReadAnswers "$build/answers"

  "$generator" generate --generator-name go --package-name vestibule --input-spec "$document" --output "$build/go" \
    --global-property "models,apis,supportingFiles,$options" >&2
  cp tests/api/read_answers_test.go "$build/go"
  # The answers are outside of the module, so a result that is kept would not be of these.
  (cd "$build/go" && ANSWERS=../answers GOTOOLCHAIN=local GOFLAGS=-mod=mod "$go" test -count=1 ./...)
}

# The queues are in tests/api/schemathesis.toml. They trust the visitor ids, because the document allows any text.
fuzz() { # ARGUMENT...
  local phases failed=0
  need_generators
  start_runner
  create_queue TIMEDEAL:123 '{"capacity": 1000000, "trust_client_visitor_id": true}'
  create_queue open '{"capacity": 1000000, "trust_client_visitor_id": true}'
  create_queue busy '{"capacity": 4, "batch": 2, "interval_seconds": 1, "session_seconds": 3, "trust_client_visitor_id": true}'
  create_queue paused '{"paused": true, "trust_client_visitor_id": true}'
  create_queue closed '{"entrance": "closed", "trust_client_visitor_id": true}'
  # The second run does not know the entries of the first. The sequences would begin with those, whose state changes with
  # time, and Hypothesis ends a phase in which a repeated sequence has another result.
  for phases in examples,coverage,fuzzing stateful; do
    HYPOTHESIS_STORAGE_DIRECTORY=$folder/hypothesis schemathesis --config-file tests/api/schemathesis.toml \
      run "$document" --url "$VESTIBULE_API" --phases "$phases" "$@" || failed=1
  done
  return "$failed"
}

case ${1:-} in
  render | build | page | clients | compiled) "$1" ;;
  check) use_document_tools check ;;
  fuzz) "$@" ;;
  *)
    echo "usage: infra/openapi.sh render|check|build|page|clients|compiled|fuzz" >&2
    exit 2
    ;;
esac
