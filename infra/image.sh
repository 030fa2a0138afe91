#!/usr/bin/env bash
#
# Builds the container image of the runner from the Dockerfile, and tests it.
#
#   infra/image.sh build [OPTION...]   builds it; options go to `docker build`, such as --build-arg RUST_IMAGE=MIRROR/rust:…
#   infra/image.sh test                builds it from a runner of this machine, and lets two visitors through a container
#
#   IMAGE     the name of the image (vestibule-local)
#   PROGRAM   a runner for Linux that is built already. The image gets it, and nothing is compiled or pulled. The test builds
#             target/local/vestibule-local first
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=infra/tools.sh
source infra/tools.sh
# shellcheck source=infra/docker.sh
source infra/docker.sh
# shellcheck source=infra/progress.sh
source infra/progress.sh

readonly HEALTHY_SECONDS=60
readonly TURN_SECONDS=60
readonly MEGABYTES_MAX=200 # With a runner that has all its debug information.
readonly QUEUE=image:1
readonly FIRST=11111111-1111-4111-8111-111111111111 SECOND=22222222-2222-4222-8222-222222222222

image=${IMAGE:-vestibule-local}
container=
work=
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Removes the container and its volume, and stops the engine that this script started.
# shellcheck disable=SC2317 # The trap calls it.
clean_up() {
  trap '' INT TERM
  if [[ -n $container ]]; then docker rm --force --volumes "$container" >/dev/null 2>&1 || true; fi
  stop_docker
  if [[ -n $work ]]; then rm -rf "$work"; fi
}

build_image() { # OPTION...
  local network=()
  # The containers of the script's own engine reach nothing behind this host.
  if [[ -n $engine_pid ]]; then network=(--network host); fi
  docker build --tag "$image" ${network[@]+"${network[@]}"} "$@" . >&2 ||
    fail "docker build failed; see above. In a closed network, pass --build-arg RUST_IMAGE=… and CARGO_MIRROR=…," \
      "or name a runner in PROGRAM."
}

# Builds an image that has the runner, and takes the place of the image of Rust.
build_with_program() { # PROGRAM OPTION...
  [[ -x $1 ]] || fail "there is no program $1."
  local folder=$work/prebuilt
  need_stand_in
  mkdir -p "$folder"
  cp "$1" "$folder/vestibule-local"
  printf '%s\n' "FROM $stand_in" 'RUN ["/usr/bin/busybox", "--install", "-s", "/usr/bin"]' \
    'COPY vestibule-local /prebuilt/vestibule-local' >"$folder/Dockerfile"
  docker build --tag vestibule/prebuilt-runner "$folder" >&2 || fail "docker build refused the runner. See its message above."
  build_image --build-arg RUST_IMAGE=vestibule/prebuilt-runner "${@:2}"
}

# The address of the container on this host. It changes with each start.
api_url() { printf 'http://%s\n' "$(docker port "$container" 8080/tcp | head -n 1)"; }

await_health() {
  local deadline=$((SECONDS + HEALTHY_SECONDS)) health
  until health=$(docker inspect --format '{{.State.Health.Status}}' "$container") && [[ $health == healthy ]]; do
    if ((SECONDS >= deadline)); then
      docker logs "$container" >&2
      fail "the container is $health after $HEALTHY_SECONDS s. Its log is above."
    fi
    sleep 0.5
  done
}

# Sends a request and prints the answer. Fails if the status is not 2xx.
send() { # METHOD PATH VISITOR [BODY]
  curl --silent --show-error --fail-with-body --request "$1" "$(api_url)$2" --header "X-Visitor-Id: $3" \
    --header 'Content-Type: application/json' ${4:+--data "$4"} || fail "the container refused $1 $2. See its answer above."
}

field() { "$python" -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$1"; }

expect() { # WHAT WISHED FOUND
  [[ $2 == "$3" ]] || fail "$1 is $3, and should be $2."
}

expect_pass() { # ANSWER
  [[ $(field pass <<<"$1") =~ ^[^.]+\.[^.]+\.[^.]+$ ]] || fail "the answer has no pass: $1"
}

test_image() {
  local megabytes user
  megabytes=$(($(docker image inspect --format '{{.Size}}' "$image") / 1000000))
  say "the image has $megabytes MB"
  ((megabytes <= MEGABYTES_MAX)) || fail "the image has more than $MEGABYTES_MAX MB."
  user=$(docker image inspect --format '{{.Config.User}}' "$image")
  expect "the user of the image" 10001:10001 "$user"

  step "a container without rights"
  container=$(docker run --detach --publish 127.0.0.1:0:8080 --read-only --cap-drop ALL \
    --security-opt no-new-privileges "$image" --demo-visitors 0)
  await_health

  step "two visitors"
  local settings='{"capacity": 1, "batch": 1, "interval_seconds": 1}' answer first second deadline
  answer=$(send POST /_admin "" "{\"op\": \"create\", \"queue\": \"$QUEUE\", \"settings\": $settings}")
  expect "the answer of create" True "$(field ok <<<"$answer")"
  answer=$(send POST "/queues/$QUEUE/entries" "$FIRST" '{}')
  first=$(field token <<<"$answer")
  expect "the first visitor" active "$(field state <<<"$answer")"
  expect_pass "$answer"
  answer=$(send POST "/queues/$QUEUE/entries" "$SECOND" '{}')
  second=$(field token <<<"$answer")
  expect "the second visitor" waiting "$(field state <<<"$answer")"
  expect "the second visitor's position" 1 "$(field position <<<"$answer")"

  step "a stop and a start"
  docker stop --time 20 "$container" >/dev/null
  expect "the exit status after docker stop" 0 "$(docker inspect --format '{{.State.ExitCode}}' "$container")"
  docker start "$container" >/dev/null
  await_health

  step "the second visitor's turn"
  send POST "/queues/$QUEUE/entries/$first/complete" "$FIRST" '{}' >/dev/null
  deadline=$((SECONDS + TURN_SECONDS))
  until answer=$(send GET "/queues/$QUEUE/entries/$second?wait=5" "$SECOND") && [[ $(field state <<<"$answer") == ready ]]; do
    ((SECONDS < deadline)) || fail "the second visitor has no turn after $TURN_SECONDS s: $answer"
    sleep 0.2
  done
  answer=$(send POST "/queues/$QUEUE/entries/$second/claim" "$SECOND" '{}')
  expect_pass "$answer"
  answer=$(send POST "/queues/$QUEUE/entries/$second/validate" "" "{\"pass\": \"$(field pass <<<"$answer")\"}")
  expect "the pass" True "$(field valid <<<"$answer")"
  say "the second visitor waited through a stop of the container, and was let in by its pass"
}

case ${1:-} in
  build)
    need_docker
    work=$(mktemp -d "${TMPDIR:-/tmp}/vestibule-image.XXXXXX")
    if [[ -n ${PROGRAM:-} ]]; then build_with_program "$PROGRAM" "${@:2}"; else build_image "${@:2}"; fi
    say "the image is $image"
    ;;
  test)
    plan_steps image 6
    step "the runner"
    if [[ -z ${PROGRAM:-} ]]; then
      need_cargo
      run_until_end cargo build --profile local --locked --package vestibule-local
      PROGRAM=$(cargo_target)/local/vestibule-local
    fi
    python=$(need_python)
    step "the image"
    need_docker
    work=$(mktemp -d "${TMPDIR:-/tmp}/vestibule-image.XXXXXX")
    build_with_program "$PROGRAM"
    test_image
    end_steps
    ;;
  *) fail "usage: infra/image.sh build [OPTION...] | test" ;;
esac
