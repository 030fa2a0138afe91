# shellcheck shell=bash
#
# Sourced after tools.sh. Provides a container engine for `sam local`, and the image that the functions run on.
#
#   need_docker          makes sure that a container engine runs: uses the running one, or installs and starts its own
#   stop_docker          stops the engine that need_docker started, and no other
#   need_lambda_image    sets image_options, the options of `sam local` for the image of the functions
#   need_stand_in        sets stand_in, an image of Debian's C library and busybox that this builds itself
#
# The script's own engine keeps its images in .tools/docker. Its socket is in a temporary directory, which DOCKER_HOST
# then names. It does not change the host's firewall or forwarding, so its containers reach the host and nothing behind
# it.

readonly ENGINE_SECONDS=60 # The time limit of a start, and of a stop.
readonly REGISTRY_SECONDS=10
readonly PULL_SECONDS=300
readonly STAND_IN=vestibule/provided-stand-in # Its own name, because it is not Amazon's image.
readonly STAND_IN_PACKAGES=(libc6 libgcc-s1 busybox-static ca-certificates)

engine_pid=
engine_work=
engine_made_bridge=

engine_answers() { have docker && docker info >/dev/null 2>&1; }

need_docker() {
  if engine_answers; then return; fi
  [[ -z ${DOCKER_HOST:-} ]] ||
    fail "no container engine answers at DOCKER_HOST=$DOCKER_HOST. Start it, or unset DOCKER_HOST, and run this again."
  [[ $(uname -s) == Linux ]] || fail "no container engine answers. Start Docker, and run this again."
  if ! have dockerd || ! have docker; then
    have apt-get || fail "Docker is missing. Install its engine, start it, and run this again."
    apt_install docker.io iproute2
    hash -r
    if engine_answers; then return; fi # On a system with systemd, the package has started it.
  fi
  is_root || fail "no container engine answers. Start it (sudo systemctl start docker) and check that you may use it" \
    "(docker info). Or run this as root, and it starts its own."
  start_engine
}

start_engine() {
  # In /tmp instead of TMPDIR, because the path of a socket must be short.
  engine_work=$(mktemp -d /tmp/vestibule-docker.XXXXXX)
  # shellcheck disable=SC2154 # tools.sh sets it.
  mkdir -p "$tools_dir/docker"
  ip link show docker0 >/dev/null 2>&1 || engine_made_bridge=yes
  local driver
  # vfs is slow and needs much space, but works on any file system.
  for driver in overlay2 vfs; do
    say "starting a container engine (dockerd, $driver)"
    set -m # Its own process group, so that Ctrl-C does not end it before its containers.
    dockerd --host "unix://$engine_work/socket" --data-root "$tools_dir/docker" --exec-root "$engine_work/run" \
      --pidfile "$engine_work/pid" --storage-driver "$driver" --iptables=false --ip6tables=false --ip-forward=false \
      --ip-masq=false >"$engine_work/log" 2>&1 </dev/null &
    engine_pid=$!
    set +m
    export DOCKER_HOST=unix://$engine_work/socket
    if engine_came_up; then return; fi
    end_engine
  done
  say "dockerd did not start. The end of its log:"
  tail -n 20 "$engine_work/log" | sed 's/^/  | /' >&2
  fail "this needs a container engine. Start one, set DOCKER_HOST to its address, and run this again."
}

engine_came_up() {
  local deadline=$((SECONDS + ENGINE_SECONDS))
  until engine_answers; do
    if ! kill -0 "$engine_pid" 2>/dev/null || ((SECONDS >= deadline)); then return 1; fi
    sleep 0.2
  done
}

# Stops dockerd, which stops its containers and its containerd. Sends one SIGTERM only: after repeated ones, dockerd
# exits at once and leaves both running.
end_engine() {
  local deadline=$((SECONDS + ENGINE_SECONDS))
  kill -s TERM "$engine_pid" 2>/dev/null || true
  while kill -0 "$engine_pid" 2>/dev/null; do
    if ((SECONDS >= deadline)); then kill -s KILL "$engine_pid" 2>/dev/null || true; fi
    sleep 0.2
  done
  wait "$engine_pid" 2>/dev/null || true
  engine_pid=
}

stop_docker() {
  [[ -n $engine_pid ]] || return 0
  end_engine
  local mount
  awk -v under="$engine_work/" 'index($2, under) == 1 { print $2 }' /proc/mounts | while read -r mount; do umount "$mount"; done
  if [[ -n $engine_made_bridge ]]; then ip link delete docker0 2>/dev/null || true; fi
  rm -rf "$engine_work"
}

# Uses Amazon's image if it is present or its registry answers. Otherwise builds a stand-in.
need_lambda_image() { # x86_64|arm64
  local image=public.ecr.aws/lambda/provided:al2023-$1
  image_options=(--skip-pull-image)
  if has_image "$image"; then return; fi
  # Asks the registry first, because a closed network may take minutes to refuse a pull. Any answer is enough.
  if curl --silent --max-time "$REGISTRY_SECONDS" --output /dev/null https://public.ecr.aws/v2/ &&
    bounded "$PULL_SECONDS" docker pull --quiet "$image" >/dev/null; then return; fi
  say "the registry of $image does not answer, so the functions run on a stand-in for it"
  need_stand_in
  image_options+=(--invoke-image "$stand_in")
}

# Sets stand_in to an image with Debian's C library and busybox, and builds it if it is not there.
need_stand_in() {
  { have apt-get && have dpkg-deb; } || fail "cannot reach a registry of images, and cannot build a stand-in" \
    "without apt-get. Load the image (docker load) and run this again."
  local release
  release=$(apt-cache policy libc6 2>/dev/null | awk '$1 == "Candidate:" { gsub(/[^A-Za-z0-9.]/, "-", $2); print $2 }')
  stand_in=$STAND_IN:libc6-${release:-unknown}
  has_image "$stand_in" || make_stand_in "$stand_in"
}

has_image() { docker image inspect "$1" >/dev/null 2>&1; }

# Builds a root file system with what a `provided` function and the runtime emulator need: a C library, certificates, a
# shell.
make_stand_in() { # IMAGE
  local work=$tools_dir/stand-in package
  local system=$work/root
  rm -rf "$work"
  mkdir -p "$system"/usr/{bin,lib,lib64,sbin} "$system"/{etc/ssl/certs,opt,tmp,var/runtime,var/task}
  # Merges /bin, /lib and /sbin into /usr, as Debian does, because packages use either path.
  for package in bin lib lib64 sbin; do ln -s "usr/$package" "$system/$package"; done
  download_packages "$work"
  for package in "$work"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$system" || fail "could not unpack $package."
  done
  for package in sh cat chmod ls mv; do ln -sf busybox "$system/usr/bin/$package"; done
  cat "$system"/usr/share/ca-certificates/mozilla/*.crt >"$system/etc/ssl/certs/ca-certificates.crt"
  rm -rf "${system:?}/usr/share"
  chmod 1777 "$system/tmp"
  tar -C "$system" --owner=0 --group=0 -c . | docker import --change 'WORKDIR /var/task' --change \
    'ENV PATH=/usr/bin LAMBDA_TASK_ROOT=/var/task LAMBDA_RUNTIME_DIR=/var/runtime' - "$1" >/dev/null ||
    fail "docker import refused the stand-in image. See its message above."
  # Removes the image that `sam local` built on an older stand-in. It has the same name for every tag.
  docker image rm --force "$STAND_IN:rapid-$(docker info --format '{{.Architecture}}')" >/dev/null 2>&1 || true
  rm -rf "$work"
}

download_packages() { # DIRECTORY
  if (cd "$1" && apt-get download -qq "${STAND_IN_PACKAGES[@]}") >/dev/null 2>&1; then return; fi
  as_root apt-get update -qq >&2 || true
  (cd "$1" && with_retries apt-get download -qq "${STAND_IN_PACKAGES[@]}") >&2 ||
    fail "apt-get could not download the packages of the stand-in. See its message above."
}
