#!/usr/bin/env bash
#
# Starts the servers that tests need, runs a command, and stops the servers.
#
#   infra/servers.sh run [--only NAME,NAME...] -- COMMAND...
#
#   name       server                                   variable for the command
#   redis      Redis                                    TEST_REDIS_URL
#   valkey     Valkey                                   TEST_VALKEY_URL
#   cluster    Redis Cluster of three primaries and     TEST_REDIS_CLUSTER_URL; TEST_REDIS_CLUSTER_CA is the file
#              three replicas, with TLS only            of the authority that signed its certificates
#   dynamodb   MiniStack, which emulates DynamoDB       TEST_DYNAMODB_URL
#              and, at the same address, Secrets Manager
#   aws        MiniStack with every service that a      AWS_ENDPOINT_URL
#              deployment needs; only if --only names it
#
# Every server gets free loopback ports and a temporary directory, and keeps no data, so runs do not disturb each other.
# The script exits with the status of COMMAND. `infra/servers.sh run -- bash` opens a shell beside the servers.
set -euo pipefail

# shellcheck source=infra/tools.sh
source "$(dirname "${BASH_SOURCE[0]}")/tools.sh"

readonly READY_SECONDS=60 # A machine that compiles at the same time is slow.
readonly STOP_SECONDS=5
readonly AWS_SERVICES=apigateway,cloudformation,cloudwatch,dynamodb,ec2,events,iam,lambda,logs,s3,secretsmanager,sns,sqs,sts
readonly ATTEMPTS=3 # Another process may take a port between our check and the start of the server.
# The nodes start as single servers and then join. The first three get the slots; each other one replicates one of them.
readonly CLUSTER_NODES=(cluster-1 cluster-2 cluster-3 cluster-4 cluster-5 cluster-6)
readonly CLUSTER_SLOTS=("0 5460" "5461 10922" "10923 16383")
readonly JOINING_MS=1000  # The node timeout while joining. Nodes exchange news within half of it.
readonly JOINED_MS=60000 # The node timeout afterwards. A slow node must not look dead: tests decide which one fails.

usage() {
  fail "usage: infra/servers.sh run [--only redis,valkey,cluster,dynamodb,aws] -- COMMAND..."
}

# Prints COUNT different free ports.
free_ports() { # COUNT
  "$python" -c '
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in sockets))' "$1"
}

# The directory of a server contains the files port, bus_port, pid and log.
port_of() { cat "$work/$1/port"; }
bus_port_of() { cat "$work/$1/bus_port"; }
pid_of() { cat "$work/$1/pid"; }
is_running() { kill -0 "$(pid_of "$1")" 2>/dev/null; }
cli() {
  local tls=()
  if [[ $1 == cluster-* ]]; then tls=(--tls --cacert "$work/ca.pem"); fi
  redis-cli -h 127.0.0.1 -p "$(port_of "$1")" ${tls[@]+"${tls[@]}"} "${@:2}" 2>/dev/null
}

launch() { # NAME COMMAND...
  local name=$1
  shift
  set -m # Its own process group, so that Ctrl-C reaches the command and not the servers.
  "$@" >"$work/$name/log" 2>&1 </dev/null &
  set +m
  printf '%s\n' $! >"$work/$name/pid"
}

launch_redis_like() { # NAME SERVER PORT OPTION...
  launch "$1" "$2" --bind 127.0.0.1 --port "$3" --dir "$work/$1" --save '' --appendonly no \
    --enable-debug-command local "${@:4}"
}

# Starts the requested services only, because others of MiniStack listen on fixed ports, on which two runs would
# collide.
launch_ministack() { # NAME PORT SERVICES
  launch "$1" env TMPDIR="$work/$1" BIND_HOST=127.0.0.1 GATEWAY_PORT="$2" SERVICES="$3" \
    IOT_MTLS_ENABLED=0 SFTP_ENABLED=0 USE_SSL=0 PERSIST_STATE=0 LOG_LEVEL=INFO "$ministack_python" -m ministack
}

start() { # NAME
  local name=$1 port bus_port
  rm -rf "${work:?}/$name"
  mkdir "$work/$name"
  # The default bus port is 10000 above the other. It may be in use, or above the highest port.
  read -r port bus_port <<<"$(free_ports 2)"
  printf '%s\n' "$port" >"$work/$name/port"
  printf '%s\n' "$bus_port" >"$work/$name/bus_port"
  case $name in
    redis) launch_redis_like redis redis-server "$port" ;;
    valkey) launch_redis_like valkey "$valkey_server" "$port" ;;
    cluster-*)
      launch_redis_like "$name" redis-server 0 --tls-port "$port" --tls-cluster yes --tls-replication yes \
        --tls-ca-cert-file "$work/ca.pem" --tls-cert-file "$work/server.pem" --tls-key-file "$work/server.key" \
        --tls-auth-clients no --repl-diskless-sync-delay 0 \
        --cluster-enabled yes --cluster-port "$bus_port" --cluster-announce-ip 127.0.0.1 \
        --cluster-node-timeout "$JOINING_MS"
      ;;
    dynamodb)
      launch_ministack dynamodb "$port" dynamodb,secretsmanager
      ;;
    aws)
      # MiniStack runs functions as local processes, which inherit this address.
      AWS_ENDPOINT_URL="http://127.0.0.1:$port" LAMBDA_EXECUTOR=local launch_ministack aws "$port" "$AWS_SERVICES"
      ;;
  esac
}

# True once our server answers. If another process took the port first, its server would answer instead.
is_ready() { # NAME
  case $1 in
    redis | valkey | cluster-*) answers_as_ours "$1" ;;
    dynamodb | aws)
      # MiniStack logs this line after it has the port, so the port is ours. The request also loads the service.
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

# Creates a certificate authority and the certificate of the nodes.
make_certificates() {
  (
    cd "$work"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=tests" \
      -keyout ca.key -out ca.pem
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=node" \
      -keyout server.key -out server.csr
    printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n' >server.ext
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext -out server.pem
  ) >"$work/openssl.log" 2>&1 || fail "openssl could not create the certificates: $(tail -n 1 "$work/openssl.log")"
}

# Joins the running nodes to one cluster.
join_cluster() {
  local at other deadline=$((SECONDS + READY_SECONDS))
  for at in 0 1 2; do
    # shellcheck disable=SC2086 # The first and the last slot.
    cli "${CLUSTER_NODES[at]}" cluster addslotsrange ${CLUSTER_SLOTS[at]} >/dev/null
    cli "${CLUSTER_NODES[at]}" cluster set-config-epoch $((at + 1)) >/dev/null
  done
  for at in 0 1 2 3 4; do
    for other in "${CLUSTER_NODES[@]:at+1}"; do
      cli "${CLUSTER_NODES[at]}" cluster meet 127.0.0.1 "$(port_of "$other")" "$(bus_port_of "$other")" >/dev/null
    done
  done
  for at in 3 4 5; do until_joined "${CLUSTER_NODES[at]}" knows_all; done
  for at in 0 1 2; do
    cli "${CLUSTER_NODES[at + 3]}" cluster replicate "$(cli "${CLUSTER_NODES[at]}" cluster myid)" >/dev/null
  done
  for other in "${CLUSTER_NODES[@]}"; do until_joined "$other" has_joined; done
  for other in "${CLUSTER_NODES[@]}"; do cli "$other" config set cluster-node-timeout "$JOINED_MS" >/dev/null; done
}

until_joined() { # NAME CONDITION
  until "$2" "$1"; do
    is_running "$1" || give_up "$1" "ended before it had joined the others"
    ((SECONDS < deadline)) || give_up "$1" "had not joined the others after $READY_SECONDS seconds"
    sleep 0.1
  done
}

# shellcheck disable=SC2317,SC2329 # until_joined calls this function and the next by name.
knows_all() { # NAME
  local nodes
  nodes=$(cli "$1" cluster nodes)
  [[ $(grep -c ' connected' <<<"$nodes") == 6 && $nodes != *handshake* ]]
}

# True once the node serves every slot, knows all replicas, and is in sync with its primary.
# shellcheck disable=SC2317,SC2329
has_joined() { # NAME
  knows_all "$1" && [[ $(cli "$1" cluster info) == *cluster_state:ok* ]] &&
    [[ $(cli "$1" cluster nodes | grep -c 'slave ') == 3 ]] &&
    [[ $(cli "$1" info replication) =~ role:master.*connected_slaves:1|master_link_status:up ]]
}

give_up() { # NAME WHAT
  say "the server '$1' $2. The end of its log:"
  tail -n 20 "$work/$1/log" | sed 's/^/  | /' >&2
  exit 1
}

# Runs beside the servers. If this script is killed, it ends the command and the servers in its place. If a script that
# runs this one is killed, it ends this one.
watch_scripts() {
  set +e
  trap '' HUP INT
  while kill -0 $$ 2>/dev/null; do
    if [[ -n $leader_pid ]] && ! kill -0 "$leader_pid" 2>/dev/null; then kill -s TERM $$ 2>/dev/null; fi
    sleep 1
  done
  local pids all deadline=$((SECONDS + STOP_SECONDS))
  pids=$(cat "$work"/*/pid "$work/command_pid" 2>/dev/null)
  # shellcheck disable=SC2086 # Several process ids.
  all=$(list_trees $pids)
  # shellcheck disable=SC2086
  kill -s TERM $all 2>/dev/null
  # shellcheck disable=SC2086
  while all=$(list_trees $all) && [[ -n $all ]]; do
    if ((SECONDS >= deadline)); then kill -s KILL $all 2>/dev/null; fi
    sleep 0.1
  done
  rm -rf "$work"
}

# Stops the started servers by their process ids, first with SIGTERM.
# shellcheck disable=SC2317,SC2329 # The traps call it.
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
    redis) need_redis ;;
    cluster)
      need_redis
      need_openssl
      ;;
    valkey)
      need_redis # For redis-cli, which the Valkey package lacks.
      valkey_server=$(need_valkey)
      ;;
    dynamodb | aws) ministack_python=$(need_ministack) ;;
    *) fail "unknown server '$name'. Use redis, valkey, cluster, dynamodb or aws." ;;
  esac
done

work=$(mktemp -d "${TMPDIR:-/tmp}/vestibule-servers.XXXXXX")
trap stop_all EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

leader_pid=${VESTIBULE_LEADER_PID:-}
set -m # Its own process group, so that Ctrl-C does not end it.
watch_scripts </dev/null >/dev/null 2>&1 &
set +m

started_at=$SECONDS
if [[ " $names " == *" cluster "* ]]; then make_certificates; fi
servers=
for name in $names; do
  if [[ $name == cluster ]]; then servers+=" ${CLUSTER_NODES[*]}"; else servers+=" $name"; fi
done
for name in $servers; do start "$name"; done # All at once, because each takes one or two seconds.
for name in $servers; do await "$name"; done
if [[ " $names " == *" cluster "* ]]; then join_cluster; fi
ready=
for name in $names; do
  address=127.0.0.1:$(port_of "${name/#cluster/cluster-1}")
  case $name in
    redis) export TEST_REDIS_URL="redis://$address" ;;
    valkey) export TEST_VALKEY_URL="redis://$address" ;;
    cluster) export TEST_REDIS_CLUSTER_URL="rediss://$address" TEST_REDIS_CLUSTER_CA="$work/ca.pem" ;;
    dynamodb) export TEST_DYNAMODB_URL="http://$address" ;;
    aws) export AWS_ENDPOINT_URL="http://$address" ;;
  esac
  ready+=" $name=$address"
done
say "servers ready after $((SECONDS - started_at)) s:$ready"

# The emulator accepts any credentials. Tests must not find those of the developer's own account.
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true
forget_aws_account AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE \
  AWS_EC2_METADATA_DISABLED AWS_ENDPOINT_URL

status=0
# shellcheck disable=SC2034 # run_until_end reads it.
child_pid_file=$work/command_pid
run_until_end "$@" || status=$?
for name in $servers; do
  is_running "$name" || say "the server '$name' ended while the command ran"
done
exit "$status"
