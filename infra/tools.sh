# shellcheck shell=bash
#
# Sourced by the other scripts. Installs the missing tools that building and testing need: those of the system here,
# and those of PyPI and npm in infra/packages.sh, which this sources.
#
#   need_redis       redis-server and redis-cli, from the system's package manager
#   need_nginx       prints the path of nginx; installs it with the system's package manager if needed
#   need_openssl     openssl, which creates certificates, from the system's package manager
#   need_chromium    prints the path of a Chromium or Chrome; installs one with the system's package manager if needed
#   need_rust_target   installs the standard library for another processor, with rustup
#
# If a tool cannot be installed, the script ends with a message that says what to do. Messages go to stderr. These
# scripts work with Bash 3.2, the version of macOS. `set -e` does not act inside `$(...)`, so check each step there.

REDIS_MINIMUM=7 # Redis 7.0 introduced scripts that declare their flags (`#!lua flags=...`).

root=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools_dir=$root/.tools
# shellcheck source=infra/environment.sh
source "$root/infra/environment.sh"

say() { printf '%s\n' "vestibule: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

is_root() { [[ $(id -u) == 0 ]]; }

as_root() { if is_root; then "$@"; else sudo "$@"; fi; }

# Runs a command for at most SECONDS. macOS has no `timeout`.
bounded() { # SECONDS COMMAND...
  local ticks=$(($1 * 10)) pid status=0
  shift
  set -m # Its own process group, so that the processes that the command started end with it.
  "$@" </dev/null &
  pid=$!
  set +m
  while ((ticks-- > 0)) && kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
  kill -- "-$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || status=$?
  return "$status"
}

# Stops the background jobs of this shell: SIGTERM first, SIGKILL after SECONDS. Each job is a process group (`set -m`).
end_jobs() { # SECONDS
  local deadline=$((SECONDS + $1)) signal=TERM group
  while [[ -n $(jobs -pr) ]]; do
    for group in $(jobs -pr); do kill -s "$signal" -- "-$group" 2>/dev/null || true; done
    sleep 0.1
    if ((SECONDS >= deadline)); then signal=KILL; fi
  done
}

# Repeats a command that downloads until it succeeds, at most four times, because package registries cut connections.
with_retries() { # COMMAND...
  local pause_seconds
  for pause_seconds in 5 15 45; do
    if "$@"; then return; fi
    say "$1 failed; trying again in $pause_seconds s"
    sleep "$pause_seconds"
  done
  "$@"
}

# Updates the package lists first, because they may be absent or old. A failed update, for example of a third-party
# list, does not stop the script.
apt_install() {
  is_root || have sudo || fail "$* is missing, and sudo is not available. As root, run: apt-get install $*"
  say "installing $* with apt-get"
  as_root apt-get update -qq >&2 || say "apt-get update failed; trying with the existing package lists"
  with_retries as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=120 "$@" >&2 ||
    fail "apt-get could not install $*. See its message above."
}

need_redis() {
  if ! have redis-server || ! have redis-cli; then
    if have apt-get; then
      apt_install redis-server
    elif have brew; then
      say "installing redis with Homebrew"
      brew install redis >&2 || fail "Homebrew could not install redis. See its message above."
    else
      fail "Redis is missing. Install redis-server and redis-cli, version $REDIS_MINIMUM or newer, and run this again."
    fi
    hash -r
  fi
  local version
  version=$(redis-server --version | sed -n 's/.* v=\([0-9]*\)\..*/\1/p')
  if ((${version:-0} < REDIS_MINIMUM)); then
    fail "this needs Redis $REDIS_MINIMUM or newer, but $(command -v redis-server) is version ${version:-unknown}. Update it."
  fi
}

# The packages of some systems put it where only root looks for programs.
find_nginx() {
  local name
  for name in nginx /usr/sbin/nginx; do
    if have "$name"; then
      command -v "$name"
      return
    fi
  done
  return 1
}

need_nginx() {
  if find_nginx; then return; fi
  if have apt-get; then
    apt_install nginx
  elif have brew; then
    say "installing nginx with Homebrew"
    brew install nginx >&2 || fail "Homebrew could not install nginx. See its message above."
  fi
  hash -r
  find_nginx || fail "nginx is missing. Install it and run this again."
}

need_openssl() {
  have openssl && return
  have apt-get || fail "openssl is missing. Install it and run this again."
  apt_install openssl
  hash -r
}

# Any installed version suffices, because the page needs only features that are years old.
find_chromium() {
  local name
  for name in chromium google-chrome google-chrome-stable chrome \
    "/Applications/Chromium.app/Contents/MacOS/Chromium" \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
    if have "$name"; then
      command -v "$name"
      return
    fi
  done
  return 1
}

need_chromium() {
  if find_chromium; then return; fi
  if have apt-get; then
    apt_install chromium
  elif have brew; then
    say "installing google-chrome with Homebrew"
    brew install --cask google-chrome >&2 || fail "Homebrew could not install google-chrome. See its message above."
  fi
  hash -r
  find_chromium || fail "Chromium is missing. Install it so that the command chromium starts it, and run this again."
}

need_rust_target() { # TRIPLE
  [[ -d $(rustc --print sysroot)/lib/rustlib/$1/lib ]] && return
  have rustup || fail "Rust's standard library for $1 is missing, and rustup is not installed. Install one of them."
  say "installing Rust's standard library for $1"
  with_retries rustup target add "$1" >&2 || fail "rustup could not install $1. See its message above."
}

# shellcheck source=infra/packages.sh
source "$root/infra/packages.sh"
