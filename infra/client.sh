#!/usr/bin/env bash
#
# Builds and checks the client library in web/client, the waiting page in web/page, which is built with it, and the operator's
# console in web/operate. Installs what is missing: Node.js, and the pinned packages of web/client/package-lock.json.
#
#   infra/client.sh build    the bundles in web/client/dist, the page in web/page/dist and the console in web/operate/dist,
#                            which are committed, and the declarations
#   infra/client.sh check    the types of the sources, the tests, the browser tests and the samples in the documents, by
#                            `tsc --strict`, and whether those of the answers are of docs/openapi.json
#   infra/client.sh test     the unit tests, the sizes of the bundles and of the page, whether these and the console are those
#                            of the sources, and whether the imports of the sources run one way
#   infra/client.sh theme FOLDER...  whether the colours of a theme can be told apart, in its theme.css
#   infra/client.sh crowd    a thousand clients against the runner, with an outage of a minute; takes six minutes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

folder=web/client
page=web/page
console=web/operate
node=$(need_node)

# The samples use the declarations, as a developer who installs the package does.
check_types() {
  local project
  "$node" "$folder/wire.mjs" --check
  "$node" "$folder/build.mjs" --types
  "$node" "$folder/samples.mjs"
  install_packages tests/browser
  for project in "$folder" "$folder/tests" "$folder/build/samples" "$page" "$page/tests" "$console" "$console/tests" \
    tests/browser; do
    "$node" "$folder/node_modules/typescript/bin/tsc" --project "$project"
  done
}

install_packages "$folder"
case ${1:-} in
  build)
    "$node" "$folder/build.mjs"
    "$node" "$page/build.mjs"
    "$node" "$console/build.mjs"
    ;;
  check) check_types ;;
  test)
    "$node" "$folder/build.mjs" --tests
    "$node" "$page/build.mjs" --tests
    "$node" "$console/build.mjs" --tests
    "$node" --enable-source-maps --test "$folder"/build/*.test.js "$folder"/tests/*.test.mjs \
      "$page"/build/*.test.js "$page"/tests/*.test.mjs "$console"/build/*.test.js "$console"/tests/*.test.mjs
    ;;
  theme) "$node" "$page/contrast.mjs" "${@:2}" ;;
  crowd)
    if [[ -z ${VESTIBULE_LOCAL_BIN:-} ]]; then
      need_cargo
      run_until_end cargo build --workspace --locked --bin vestibule-local
      VESTIBULE_LOCAL_BIN=$(cargo_target)/debug/vestibule-local
      export VESTIBULE_LOCAL_BIN
    fi
    exec "$node" --test --test-reporter spec "$folder/tests/crowd.mjs"
    ;;
  *)
    echo "usage: infra/client.sh build|check|test|theme FOLDER...|crowd" >&2
    exit 2
    ;;
esac
