#!/usr/bin/env bash
#
# Runs the tests of the waiting page and the client library in Chromium, against the local runner behind nginx. Installs
# what is missing. Arguments go to Playwright:
#
#   infra/browser.sh                  all but the long ones and the crowds
#   infra/browser.sh -g 'two tabs'    those whose names match
#   infra/browser.sh long             only the long ones, whose names contain @long
#   infra/browser.sh night            only the night of a sale with 2,000 visitors and a page beside 500 clients, one after
#                                     the other, because they leave no processor for other tests
#
# VESTIBULE_LOCAL_BIN names a runner that is built, and VESTIBULE_WIDGET_BIN the function of the dashboard's widget. Without
# them, this script builds them. VESTIBULE_WEB names a folder with a page to test instead of the one in the runner, such as
# web/page/dist after `infra/client.sh build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# The shops that sign their requests would prefer a profile of the developer to the credentials of the test.
# shellcheck disable=SC2119 # It keeps none of them.
forget_aws_account

folder=tests/browser
node=$(need_node)
VESTIBULE_CHROMIUM=${VESTIBULE_CHROMIUM:-$(need_chromium)}
VESTIBULE_NGINX=${VESTIBULE_NGINX:-$(need_nginx)}
export VESTIBULE_CHROMIUM VESTIBULE_NGINX
install_packages "$folder"
install_shops
if [[ -z ${VESTIBULE_LOCAL_BIN:-} ]]; then
  need_cargo
  run_until_end cargo build --workspace --locked --bin vestibule-local
  VESTIBULE_LOCAL_BIN=$(cargo_target)/debug/vestibule-local
  export VESTIBULE_LOCAL_BIN
fi
if [[ -z ${VESTIBULE_WIDGET_BIN:-} ]]; then
  need_cargo
  run_until_end cargo build --workspace --locked --bin widget
  VESTIBULE_WIDGET_BIN=$(cargo_target)/debug/widget
  export VESTIBULE_WIDGET_BIN
fi

case ${1:-} in
long)
  shift
  set -- --grep @long "$@"
  ;;
night)
  shift
  need_redis
  set -- --grep @night --workers 1 "$@"
  ;;
*) set -- --grep-invert '@long|@night' "$@" ;;
esac

cd "$folder"
exec "$node" node_modules/@playwright/test/cli.js test "$@"
