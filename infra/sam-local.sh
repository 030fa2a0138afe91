#!/usr/bin/env bash
#
# Builds the functions and serves them with `sam local`, in containers. A Redis and an emulator of AWS run on the host.
#
#   infra/sam-local.sh [OPTION...]         serves until Ctrl-C; options go to `sam local start-api`
#   infra/sam-local.sh run -- COMMAND...   serves on free ports, runs the command, stops; exits with the command's status
#
#   REDIS_URL          your own Redis; without it, the script starts one (infra/servers.sh)
#   AWS_ENDPOINT_URL   your own emulator of DynamoDB and Secrets Manager; without it, the script starts MiniStack
#   PORT, LAMBDA_PORT  the ports of the API (3000) and of Lambda's own interface (3001)
#   CORS_ORIGINS       pages that may call from a browser (*)
#
# The command finds the API in TEST_API_URL, its kind in TEST_GATEWAY and its allowed origin in TEST_CORS_ORIGIN. It
# finds the stores in TEST_REDIS_URL, TEST_DYNAMODB_URL, TEST_QUEUES_TABLE and TEST_ENTRIES_TABLE.
#
# `sam local` fires no schedule. A loop invokes PromoterFunction each minute with the event of the schedule, so the real
# function ticks, in a container and with its real deadline.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/docker.sh
source infra/docker.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

readonly READY_SECONDS=120 # The first request builds the image of the functions.
readonly STOP_SECONDS=20
readonly MINUTE=60
readonly SCHEDULE_EVENT=infra/events/promoter-schedule.json

command=()
options=()
case ${1:-} in
  run)
    [[ ${2:-} == -- && $# -gt 2 ]] || fail "usage: infra/sam-local.sh [OPTION...] | run -- COMMAND..."
    command=("${@:3}")
    ;;
  *) options=("$@") ;;
esac

# Starts the missing servers, which then run this script again.
if [[ -z ${VESTIBULE_SERVERS_STARTED:-} ]]; then
  missing=
  if [[ -z ${REDIS_URL:-} ]]; then missing=redis; fi
  if [[ -z ${AWS_ENDPOINT_URL:-} ]]; then missing=${missing:+$missing,}dynamodb; fi
  if [[ -n $missing ]]; then
    export VESTIBULE_SERVERS_STARTED=$missing CHILD_END_SECONDS=90 # Containers and their engine stop one after the other.
    exec infra/servers.sh run --only "$missing" -- infra/sam-local.sh "$@"
  fi
else
  REDIS_URL=${REDIS_URL:-$TEST_REDIS_URL}
  AWS_ENDPOINT_URL=${AWS_ENDPOINT_URL:-$TEST_DYNAMODB_URL}
fi
redis_url=$REDIS_URL aws_url=$AWS_ENDPOINT_URL
# The tools below must not read these variables. An emulator accepts any credentials.
unset REDIS_URL AWS_ENDPOINT_URL
export AWS_ACCESS_KEY_ID=${AWS_ACCESS_KEY_ID:-test} AWS_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY:-test}
export AWS_REGION=${AWS_REGION:-us-east-1} SAM_CLI_TELEMETRY=0
export AWS_DEFAULT_REGION=$AWS_REGION

network=
work=$(mktemp -d "${TMPDIR:-/tmp}/vestibule-sam.XXXXXX")
trap stop_all EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Stops the processes that this script started, by their ids, and the containers before the engine.
# shellcheck disable=SC2317 # The trap calls it.
stop_all() {
  trap '' INT TERM HUP # A second Ctrl-C must not leave a container behind.
  # Sends SIGINT, as Ctrl-C does, because the SAM CLI then removes its containers.
  local deadline=$((SECONDS + STOP_SECONDS)) signal=INT group
  while [[ -n $(jobs -pr) ]]; do
    for group in $(jobs -pr); do
      [[ $group == "$engine_pid" ]] || kill -s "$signal" -- "-$group" 2>/dev/null || true
    done
    sleep 0.2
    if ((SECONDS >= deadline)); then signal=KILL; fi
    if [[ $(jobs -pr) == "$engine_pid" ]]; then break; fi
  done
  if [[ -n $network ]]; then
    local containers
    containers=$(docker ps --all --quiet --filter "network=$network" 2>/dev/null) || true
    # shellcheck disable=SC2086 # Several containers.
    if [[ -n $containers ]]; then docker rm --force $containers >/dev/null 2>&1 || true; fi
    docker network rm "$network" >/dev/null 2>&1 || say "could not remove the network $network of the container engine"
  fi
  stop_docker
  rm -rf "$work"
}

launch() { # NAME COMMAND...
  local name=$1
  shift
  set -m # Its own process group, so that Ctrl-C reaches the command and not the servers.
  "$@" >"$work/$name.log" 2>&1 </dev/null &
  set +m
  printf '%s\n' $! >"$work/$name.pid"
}

free_port() { "$python" -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'; }

# Sets `container_url` to the address under which containers reach a server. Containers cannot reach the host's
# loopback, so socat forwards to it from the address that the host has in their network.
expose_to_containers() { # URL
  container_url=$1
  [[ $1 =~ ^([a-z+]+)://([^/@]*@)?(127\.[0-9.]+|localhost|\[::1\])(:([0-9]+))?(/.*)?$ ]] || return 0
  local scheme=${BASH_REMATCH[1]} user=${BASH_REMATCH[2]} host=${BASH_REMATCH[3]}
  local port=${BASH_REMATCH[5]} rest=${BASH_REMATCH[6]}
  if [[ $scheme == *+cluster ]]; then
    fail "containers cannot reach a Redis cluster on loopback, because it redirects them to 127.0.0.1."
  fi
  if [[ -z $port ]]; then case $scheme in redis*) port=6379 ;; https) port=443 ;; *) port=80 ;; esac; fi
  if [[ $gateway != host.docker.internal ]]; then
    launch "forward-$port" socat "TCP-LISTEN:$port,bind=$gateway,fork,reuseaddr" "TCP:$host:$port"
  fi
  container_url=$scheme://$user$gateway:$port$rest
}

# Creates a network for this run, so that all containers in it belong to this run. The engine gives the address of the
# host in it. If this host does not have that address, the engine runs in a virtual machine (Docker Desktop), which has
# a name for the host's loopback.
create_network() {
  docker network create "vestibule-sam-$$" >/dev/null ||
    fail "the container engine could not create a network. See its message above."
  network=vestibule-sam-$$
  gateway=$(docker network inspect "$network" --format '{{(index .IPAM.Config 0).Gateway}}')
  if ! "$python" -c 'import socket, sys; socket.create_server((sys.argv[1], 0))' "$gateway" 2>/dev/null; then
    gateway=host.docker.internal
  elif ! have socat; then
    have apt-get || fail "socat is missing. Install it and run this again."
    apt_install socat
  fi
}

# Writes the environment variables in which the functions differ from the template.
write_variables() {
  local names
  names=$("$python" infra/sam-local.py "$template" "$aws_url") ||
    fail "could not create the tables and secrets at $aws_url."
  expose_to_containers "$redis_url"
  local redis=$container_url
  expose_to_containers "$aws_url"
  "$python" -c '
import json, sys
names, redis, aws, api = sys.argv[1:]
print(json.dumps({"Parameters": json.loads(names) | {
    "VESTIBULE_REDIS_URL": redis, "VESTIBULE_DYNAMODB_ENDPOINT": aws, "VESTIBULE_SECRETS_ENDPOINT": aws,
    "VESTIBULE_ISSUER": api}}))' "$names" "$redis" "$container_url" "$api_url" >"$work/variables.json"
}

# Starts `sam local` without warm containers. One container per request is slow, but a warm container answers one
# request at a time, so a held poll would delay every other visitor.
launch_sam() { # api|lambda PORT OPTION...
  launch "$1" "$sam" local "start-$1" --template "$template" --port "$2" --env-vars "$work/variables.json" \
    --docker-network "$network" "${image_options[@]}" "${@:3}" \
    --parameter-overrides "Architecture=$architecture" Emulator=yes ServiceAuth=none "RedisUrl=$redis_url" \
    "CorsOrigins=$cors_origins"
}

invoke() { # FUNCTION BODY
  curl --silent --show-error --fail-with-body --request POST "$lambda_url/2015-03-31/functions/$1/invocations" --data "$2"
}

await() { # NAME COMMAND...
  local name=$1 deadline=$((SECONDS + READY_SECONDS)) problem
  shift
  until "$@" >"$work/answer" 2>&1; do
    problem=
    if ((SECONDS >= deadline)); then problem="was not ready after $READY_SECONDS seconds"; fi
    kill -0 "$(cat "$work/$name.pid")" 2>/dev/null || problem="ended before it was ready"
    if [[ -n $problem ]]; then
      say "sam local start-$name $problem. The end of its log:"
      show_log "$name"
      exit 1
    fi
    sleep 0.3
  done
}

show_log() { # NAME
  tail -n 40 "$work/$1.log" | sed 's/^/  | /' >&2
}

# Starts one run per minute. A run lasts to its deadline, or ends earlier if every queue is empty.
promote_each_minute() {
  local started_at
  while true; do
    started_at=$SECONDS
    invoke PromoterFunction "@$SCHEDULE_EVENT" || true
    echo
    if ((SECONDS < started_at + MINUTE)); then sleep $((started_at + MINUTE - SECONDS)); fi
  done
}

readonly DEMO='{"op": "create", "queue": "demo:1", "settings": {"capacity": 3, "batch": 1, "interval_seconds": 5}}'

has_demo_queue() { [[ $(invoke AdminFunction "$DEMO") == *'"ok": true'* ]]; }

plan_steps sam-local 3
step "the tools, the container engine and its image"
sam=$(need_sam)/sam
python=$tools_dir/sam/bin/python
have curl || { have apt-get && apt_install curl; } || fail "curl is missing. Install it and run this again."
case $(uname -m) in
  x86_64 | amd64) architecture=x86_64 ;;
  aarch64 | arm64) architecture=arm64 ;;
  *) fail "Lambda does not support the processor $(uname -m)." ;;
esac
need_docker
need_lambda_image "$architecture"

step "the build of the functions"
template=$(infra/sam-build.sh "$architecture" --fast | tail -n 1)
step "the start of the functions"

cors_origins=${CORS_ORIGINS:-*}
if [[ ${#command[@]} -gt 0 ]]; then
  PORT=$(free_port) LAMBDA_PORT=$(free_port)
  cors_origins=https://shop.example # A named origin, because tests against * prove little.
fi
api_url=http://127.0.0.1:${PORT:=3000} lambda_url=http://127.0.0.1:${LAMBDA_PORT:=3001}
create_network
write_variables
launch_sam lambda "$LAMBDA_PORT"
launch_sam api "$PORT" ${options[@]+"${options[@]}"}
await lambda has_demo_queue
launch promoter promote_each_minute
await api curl --silent --fail "$api_url/queues/demo:1"
end_steps

if [[ ${#command[@]} -gt 0 ]]; then
  export TEST_API_URL=$api_url TEST_GATEWAY=sam-local TEST_CORS_ORIGIN=$cors_origins TEST_REDIS_URL=$redis_url TEST_DYNAMODB_URL=$aws_url
  export TEST_QUEUES_TABLE=vestibule-QueuesTable TEST_ENTRIES_TABLE=vestibule-EntriesTable
  status=0 command_began_at=$SECONDS
  run_until_end "${command[@]}" || status=$?
  say "the command took $(show_seconds $((SECONDS - command_began_at)))"
  if ((status != 0)); then
    for log in api lambda; do
      say "the end of the log of '$log':"
      show_log "$log"
    done
  fi
  exit "$status"
fi

say "the API is at $api_url, and queue demo:1 is open. Enter it (each request starts a container, which takes a moment):"
say "  curl -s $api_url/queues/demo:1/entries -H 'Content-Type: application/json' -d '{}'"
say "run an operator's command:"
say "  curl -s $lambda_url/2015-03-31/functions/AdminFunction/invocations -d '{\"op\": \"describe\", \"queue\": \"demo:1\"}'"
say "the logs of the functions follow; Ctrl-C stops everything."
run_until_end tail -n 0 -f "$work/api.log" "$work/lambda.log" "$work/promoter.log"
