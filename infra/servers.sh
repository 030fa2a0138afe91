#!/usr/bin/env bash
#
# Starts the servers that tests talk to, runs a command, and stops them again.
#
#   infra/servers.sh run [--only NAME,NAME...] -- COMMAND...
#
#   name       server                                   the command finds it in
#   redis      Redis                                    TEST_REDIS_URL
#   valkey     Valkey                                   TEST_VALKEY_URL
#   cluster    Redis Cluster of one node                TEST_REDIS_CLUSTER_URL
#   dynamodb   MiniStack, which emulates DynamoDB       TEST_DYNAMODB_URL
#              and, at the same address, Secrets Manager
#   aws        MiniStack with all that a deployment     AWS_ENDPOINT_URL
#              needs; only where it is asked for
#
# Every server gets free loopback ports and a temporary directory, and keeps nothing: runs do not disturb each other.
# The exit status is that of COMMAND. `infra/servers.sh run -- bash` gives a shell to try things in.
set -euo pipefail

# shellcheck source=infra/tools.sh
source "$(dirname "${BASH_SOURCE[0]}")/tools.sh"

readonly READY_SECONDS=60 # Machines that compile at the same time are slow.
readonly STOP_SECONDS=5
readonly AWS_SERVICES=apigateway,cloudformation,cloudwatch,dynamodb,ec2,events,iam,lambda,logs,s3,secretsmanager,sns,sts
readonly ATTEMPTS=3 # For a port that somebody took between our look and the server's.

usage() {
  fail "usage: infra/servers.sh run [--only redis,valkey,cluster,dynamodb,aws] -- COMMAND..."
}

# Prints that many different free ports.
free_ports() { # COUNT
  "$python" -c '
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in sockets))' "$1"
}

# What the script knows about a server lies in its directory: the files port, pid and log.
port_of() { cat "$work/$1/port"; }
pid_of() { cat "$work/$1/pid"; }
is_running() { kill -0 "$(pid_of "$1")" 2>/dev/null; }
cli() { redis-cli -h 127.0.0.1 -p "$(port_of "$1")" "${@:2}" 2>/dev/null; }

launch() { # NAME COMMAND...
  local name=$1
  shift
  set -m # A process group of its own: Ctrl-C must reach the command, and not the servers under it.
  "$@" >"$work/$name/log" 2>&1 </dev/null &
  set +m
  printf '%s\n' $! >"$work/$name/pid"
}

launch_redis_like() { # NAME SERVER PORT OPTION...
  launch "$1" "$2" --bind 127.0.0.1 --port "$3" --dir "$work/$1" --save '' --appendonly no \
    --enable-debug-command local "${@:4}"
}

# Only the services asked for: others of MiniStack listen on fixed ports, where two runs would meet.
launch_ministack() { # NAME PORT SERVICES
  launch "$1" env TMPDIR="$work/$1" BIND_HOST=127.0.0.1 GATEWAY_PORT="$2" SERVICES="$3" \
    IOT_MTLS_ENABLED=0 SFTP_ENABLED=0 USE_SSL=0 PERSIST_STATE=0 LOG_LEVEL=INFO "$ministack_python" -m ministack
}

start() { # NAME
  local name=$1 port bus_port
  rm -rf "${work:?}/$name"
  mkdir "$work/$name"
  # The bus port is 10000 above the other by default, and so may be taken or past the last port.
  read -r port bus_port <<<"$(free_ports 2)"
  printf '%s\n' "$port" >"$work/$name/port"
  case $name in
    redis) launch_redis_like redis redis-server "$port" ;;
    valkey) launch_redis_like valkey "$valkey_server" "$port" ;;
    cluster)
      launch_redis_like cluster redis-server "$port" \
        --cluster-enabled yes --cluster-port "$bus_port" --cluster-announce-ip 127.0.0.1
      ;;
    dynamodb)
      launch_ministack dynamodb "$port" dynamodb,secretsmanager
      ;;
    aws)
      # Functions run as processes of this machine and inherit the address.
      AWS_ENDPOINT_URL="http://127.0.0.1:$port" LAMBDA_EXECUTOR=local launch_ministack aws "$port" "$AWS_SERVICES"
      ;;
  esac
}

# True once the server answers, and the one that answers is ours: after a lost race for the port it would be another's.
is_ready() { # NAME
  case $1 in
    redis | valkey) answers_as_ours "$1" ;;
    cluster)
      answers_as_ours cluster || return 1
      local state
      state=$(cli cluster cluster info)
      [[ $state == *cluster_slots_assigned:16384* ]] || cli cluster cluster addslotsrange 0 16383 >/dev/null
      [[ $state == *cluster_state:ok* ]]
      ;;
    dynamodb | aws)
      # The line comes after binding, so it says whose the port is; the request loads the service, too.
      grep -q 'Running on http' "$work/$1/log" && "$python" -c '
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=5)
headers = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
connection.request("POST", "/", "{}", headers)
sys.exit(connection.getresponse().status != 200)' "$(port_of "$1")" 2>/dev/null
      ;;
  esac
}

answers_as_ours() { # NAME
  [[ $(cli "$1" info server) == *"process_id:$(pid_of "$1")"$'\r'* ]]
}

lost_the_port() { # NAME
  ! is_running "$1" && grep -qiE 'address already in use|is already in use|failed listening' "$work/$1/log"
}

await() { # NAME
  local name=$1 attempt=1 deadline=$((SECONDS + READY_SECONDS))
  until is_ready "$name"; do
    if lost_the_port "$name" && ((attempt < ATTEMPTS)); then
      attempt=$((attempt + 1))
      start "$name"
    elif ! is_running "$name"; then
      give_up "$name" "ended before it was ready"
    elif ((SECONDS >= deadline)); then
      give_up "$name" "was not ready after $READY_SECONDS seconds"
    fi
    sleep 0.1
  done
}

give_up() { # NAME WHAT
  say "the server '$1' $2. The end of its log:"
  tail -n 20 "$work/$1/log" | sed 's/^/  | /' >&2
  exit 1
}

# Ends the servers by the ids of their own processes, politely first; some or none may have been started.
# shellcheck disable=SC2317 # The traps call it.
stop_all() {
  trap '' INT TERM HUP # A second Ctrl-C must not leave a server behind.
  end_jobs "$STOP_SECONDS"
  rm -rf "$work"
}

[[ ${1:-} == run ]] || usage
shift
names="redis valkey cluster dynamodb"
if [[ ${1:-} == --only && $# -gt 1 ]]; then
  names=${2//,/ }
  shift 2
fi
[[ ${1:-} == -- && $# -gt 1 && -n $names ]] || usage
shift

python=$(need_python)
for name in $names; do
  case $name in
    redis | cluster) need_redis ;;
    valkey)
      need_redis # For redis-cli; the package has none.
      valkey_server=$(need_valkey)
      ;;
    dynamodb | aws) ministack_python=$(need_ministack) ;;
    *) fail "there is no server '$name'; there are redis, valkey, cluster, dynamodb and aws" ;;
  esac
done

work=$(mktemp -d "${TMPDIR:-/tmp}/vestibule-servers.XXXXXX")
trap stop_all EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

started_at=$SECONDS
for name in $names; do start "$name"; done # All at once, since each takes a second or two.
ready=
for name in $names; do
  await "$name"
  address=127.0.0.1:$(port_of "$name")
  case $name in
    redis) export TEST_REDIS_URL="redis://$address" ;;
    valkey) export TEST_VALKEY_URL="redis://$address" ;;
    cluster) export TEST_REDIS_CLUSTER_URL="redis://$address" ;;
    dynamodb) export TEST_DYNAMODB_URL="http://$address" ;;
    aws) export AWS_ENDPOINT_URL="http://$address" ;;
  esac
  ready+=" $name=$address"
done
say "servers ready after $((SECONDS - started_at)) s:$ready"

# The emulator takes any credentials. Nothing of the developer's own account is left for a test to find.
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true
unset AWS_PROFILE AWS_SESSION_TOKEN

status=0
"$@" || status=$?
for name in $names; do
  is_running "$name" || say "the server '$name' ended while the command ran"
done
exit "$status"
