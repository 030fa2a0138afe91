#!/usr/bin/env bash
#
# Serves the functions with `cargo lambda watch`. When a file changes of which they are made, builds and restarts them.
# A Redis and an emulator of DynamoDB run beside it.
#
#   infra/watch.sh                   serves until Ctrl-C
#   infra/watch.sh run -- COMMAND... serves on a free port, runs the command, stops; exits with the command's status
#   infra/watch.sh router            prints which function serves each route, as cargo lambda reads it
#
#   REDIS_URL         your own Redis; without it, the script starts one (infra/servers.sh)
#   AWS_ENDPOINT_URL  your own emulator of DynamoDB; without it, the script starts MiniStack
#   PORT              the port of the API (9000)
#
# The command finds the API in TEST_API_URL, and the stores in TEST_REDIS_URL, TEST_DYNAMODB_URL, TEST_QUEUES_TABLE and
# TEST_ENTRIES_TABLE. No schedule fires here. A loop invokes the promoter again whenever a run ends.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh

readonly READY_SECONDS=600 # The first start compiles everything.
readonly RESTART_SECONDS=90 # Each instance asks cargo whether its program is up to date, one after the other.
readonly STOP_SECONDS=10
readonly QUEUES_TABLE=vestibule-queues ENTRIES_TABLE=vestibule-entries

# Prints the configuration of cargo lambda. API Gateway reads the same document, so a route has the same function here.
print_router() {
  need_environment openapi || exit 1
  "$tools_dir/openapi/bin/python" - infra/openapi.yaml <<'PYTHON'
import re, sys, yaml
with open(sys.argv[1], encoding="utf-8") as file:
    document = yaml.safe_load(file)
print("[watch.router]")
for path, item in document["paths"].items():
    routes = []
    for method in ("get", "post", "put", "patch", "delete"):  # cargo lambda answers a preflight itself.
        if method in item:
            uri = item[method]["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]
            function = re.search(r"functions/\$\{(\w+)Function\.Arn\}", uri)[1].lower()
            routes.append('{ method = "%s", function = "%s" }' % (method.upper(), function))
    print('"%s" = [%s]' % (path, ", ".join(routes)))
PYTHON
}

command=()
case ${1:-} in
  router)
    print_router
    exit
    ;;
  run)
    [[ ${2:-} == -- && $# -gt 2 ]] || fail "usage: infra/watch.sh [run -- COMMAND...]"
    command=("${@:3}")
    ;;
  '') ;;
  *) fail "usage: infra/watch.sh [router | run -- COMMAND...]" ;;
esac

# Starts the missing servers, which then run this script again.
if [[ -z ${VESTIBULE_SERVERS_STARTED:-} ]]; then
  missing=
  if [[ -z ${REDIS_URL:-} ]]; then missing=redis; fi
  if [[ -z ${AWS_ENDPOINT_URL:-} ]]; then missing=${missing:+$missing,}dynamodb; fi
  if [[ -n $missing ]]; then
    export VESTIBULE_SERVERS_STARTED=$missing
    exec infra/servers.sh run --only "$missing" -- infra/watch.sh "$@"
  fi
fi
redis_url=${REDIS_URL:-${TEST_REDIS_URL:-}} aws_url=${AWS_ENDPOINT_URL:-${TEST_DYNAMODB_URL:-}}
unset AWS_ENDPOINT_URL # The functions get the address in a variable of Vestibule.

need_cargo
need_cargo_lambda
python=$(need_python)
have curl || { have apt-get && apt_install curl; } || fail "curl is missing. Install it and run this again."

# Creates a table in DynamoDB, unless it exists.
create_table() { # NAME PARTITION_KEY SORT_KEY
  "$python" - "$aws_url" "$@" <<'PYTHON'
import json, sys, urllib.error, urllib.request
url, name, partition_key, sort_key = sys.argv[1:]
keys = {partition_key: "HASH", sort_key: "RANGE"}
table = {
    "TableName": name,
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, kind in keys.items()],
    "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in keys],
}
headers = {
    "X-Amz-Target": "DynamoDB_20120810.CreateTable",
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request",
}
try:
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(table).encode(), headers), timeout=30)
except urllib.error.HTTPError as error:
    if b"ResourceInUse" not in (answer := error.read()):
        sys.exit(f"{name}: {answer.decode()}")
PYTHON
}
create_table "$QUEUES_TABLE" queue part || fail "could not create the table $QUEUES_TABLE at $aws_url."
create_table "$ENTRIES_TABLE" shard entry || fail "could not create the table $ENTRIES_TABLE at $aws_url."

free_port() { "$python" -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'; }
random_text() { "$python" -c 'import secrets; print(secrets.token_hex(32))'; }

if ((${#command[@]})); then port=$(free_port); else port=${PORT:-9000}; fi
api_url=http://127.0.0.1:$port

# Random keys suffice for one run. To keep entries valid from run to run, set the same keys each time.
export VESTIBULE_ROOT_KEY=${VESTIBULE_ROOT_KEY:-$(random_text)}
export VESTIBULE_SIGNING_KEY=${VESTIBULE_SIGNING_KEY:-$(random_text)}
export VESTIBULE_REDIS_URL=$redis_url VESTIBULE_DYNAMODB_ENDPOINT=$aws_url VESTIBULE_ISSUER=$api_url
export VESTIBULE_QUEUES_TABLE=$QUEUES_TABLE VESTIBULE_ENTRIES_TABLE=$ENTRIES_TABLE
export VESTIBULE_SERVICE_ROUTES=none VESTIBULE_CORS_ORIGINS=${VESTIBULE_CORS_ORIGINS:-*}

work=$(mktemp -d "${TMPDIR:-/tmp}/vestibule-watch.XXXXXX")
trap stop_all EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Stops the processes that this script started, by the ids of their process groups.
# shellcheck disable=SC2317 # The trap calls it.
stop_all() {
  trap '' INT TERM HUP # A second Ctrl-C must not leave a function behind.
  end_jobs "$STOP_SECONDS"
  rm -rf "$work" ${restart_dir:+"$restart_dir"}
}

# cargo names the files of which it built a program in a file beside it. A change of another file changes no function.
functions_dir=$(cargo_target)/debug
functions=$(sed -n '/^\[\[bin/,/^name/s/^name = "\(.*\)"/\1/p' functions/Cargo.toml)
find_sources() {
  local file name
  sources=()
  while IFS= read -r file; do
    if [[ -e $file ]]; then sources+=("$file"); fi
  done < <({
    for name in $functions; do sed 's/^[^:]*: //' "$functions_dir/$name.d"; done | xargs printf '%s\n'
    printf '%s\n' Cargo.toml Cargo.lock functions/Cargo.toml shared/*/Cargo.toml shared/*/*/Cargo.toml
  } | sort -u)
}

build_functions() {
  touch "$work/build-began"
  cargo build --package functions --locked
}

# Builds first, so that a compile error shows here and the first request does not wait for the build.
build_functions
find_sources
print_router >"$work/lambda.toml"

# Each instance of a function watches the folder in which cargo lambda runs, with all folders below, whatever is to be
# ignored. In a clone that has run tests, these are more than the kernel allows, and the last instances would keep their
# old code without a word. So cargo lambda runs in a folder with one file, and restarts the functions when that changes.
# The folder is in the repository, because rustup and cargo look there for their settings.
mkdir -p "$tools_dir"
restart_dir=$(mktemp -d "$tools_dir/watch.XXXXXX")
set -m # Its own process group, which includes the functions that it starts.
(cd "$restart_dir" && exec cargo lambda watch --manifest-path "$root/Cargo.toml" --global "$work/lambda.toml" \
  --package functions --invoke-address 127.0.0.1 --invoke-port "$port") >"$work/log" 2>&1 </dev/null &
watch_pid=$!
set +m

is_ready() { curl --fail --silent --max-time 5 --output /dev/null "$api_url/.well-known/jwks.json"; }
deadline=$((SECONDS + READY_SECONDS))
until is_ready; do
  if ! kill -0 "$watch_pid" 2>/dev/null || ((SECONDS >= deadline)); then
    say "cargo lambda watch did not start. The end of its log:"
    tail -n 20 "$work/log" | sed 's/^/  | /' >&2
    exit 1
  fi
  sleep 0.5
done

invoke_promoter() {
  while true; do
    # A run lasts a minute, as with the schedule. A function that was rebuilt meanwhile never answers.
    curl --silent --max-time 75 --output /dev/null --data '{}' "$api_url/2015-03-31/functions/promoter/invocations" || true
    sleep 1
  done
}

# The processes of the functions, which cargo lambda started, one for each instance.
function_pids() { ps -A -o ppid= -o pid= | awk -v parent="$watch_pid" '$1 == parent { print $2 }'; }

are_running() { # PID...
  local pid
  for pid in "$@"; do
    if kill -0 "$pid" 2>/dev/null; then return; fi
  done
  return 1
}

# Lets cargo lambda restart all functions, and waits until the old ones are gone.
restart_functions() {
  local old deadline=$((SECONDS + RESTART_SECONDS))
  old=$(function_pids)
  date >"$restart_dir/restart"
  # shellcheck disable=SC2086 # Process ids.
  while are_running $old; do
    if ((SECONDS >= deadline)); then
      say "functions still run the OLD code after $RESTART_SECONDS s: cargo lambda has not restarted them. Stop this, and start it again."
      warn_of_limit
      return
    fi
    sleep 0.2
  done
  say "the functions have the new code"
}

warn_of_limit() {
  [[ ! -e /proc/sys/fs/inotify ]] ||
    say "all programs of a user share fs.inotify.max_user_instances ($(cat /proc/sys/fs/inotify/max_user_instances)) and max_user_watches ($(cat /proc/sys/fs/inotify/max_user_watches)). Raise them with sysctl."
}

# On Linux, each instance of a function has a watcher. cargo lambda starts an instance without one, and says nothing.
lacks_watchers() {
  local watchers
  [[ -d /proc/$watch_pid/fd ]] || return
  watchers=$(find "/proc/$watch_pid/fd" -lname '*inotify*' 2>/dev/null | wc -l)
  ((watchers < $(function_pids | wc -l)))
}

# Builds and restarts the functions after a change. After a failed build they keep the old code, and the next change
# builds again.
follow_changes() {
  local changed lacking=0
  while sleep 1; do
    if lacks_watchers; then lacking=$((lacking + 1)); else lacking=0; fi
    if ((lacking == 3)); then # A new instance may lack it for a moment.
      say "some functions will keep their OLD code after a change: the kernel gives cargo lambda no watcher for them. Stop this, and start it again."
      warn_of_limit
    fi
    # A file that is gone counts as a change, too.
    if changed=$(find "${sources[@]}" -newer "$work/build-began" 2>/dev/null) && [[ -z $changed ]]; then continue; fi
    say "building again after a change${changed:+ of ${changed%%$'\n'*}}"
    if build_functions; then
      restart_functions
    else
      say "the build failed, so the functions keep the old code"
    fi
    find_sources
  done
}
set -m
invoke_promoter &
follow_changes &
if ((${#command[@]} == 0)); then tail -n +1 -f "$work/log" & fi
set +m

say "the functions are at $api_url"
if ((${#command[@]})); then
  export TEST_API_URL=$api_url TEST_REDIS_URL=$redis_url TEST_DYNAMODB_URL=$aws_url
  export TEST_QUEUES_TABLE=$QUEUES_TABLE TEST_ENTRIES_TABLE=$ENTRIES_TABLE
  "${command[@]}"
  exit
fi
say "run an operator's command: curl $api_url/2015-03-31/functions/admin/invocations --data '{\"op\": \"create\", \"queue\": \"demo:1\"}'"
wait "$watch_pid"
