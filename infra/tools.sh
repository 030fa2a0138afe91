# shellcheck shell=bash
#
# Sourced by the other scripts. Installs the missing tools that building and testing need: those of the system here,
# those of PyPI and npm in infra/packages.sh, and Rust's in infra/rust.sh. This sources both, and infra/processes.sh, which
# runs and ends other programs, and infra/requirements.sh, which names all that is missing.
#
#   need_redis       redis-server and redis-cli, from the system's package manager
#   need_nginx       prints the path of nginx; installs it with the system's package manager if needed
#   need_openssl     openssl, which creates certificates, from the system's package manager
#   need_chromium    prints the path of a Chromium or Chrome; installs one with the system's package manager if needed
#   processors       prints the number of processors
#   raise_open_files   raises the limit of open files
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

# Prints the version that apt-get would install, without its epoch, or nothing if the package lists do not know it.
apt_candidate() { # PACKAGE
  apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | sed 's/^(none)$//; s/^[0-9]*://'
}

need_redis() {
  if ! have redis-server || ! have redis-cli; then
    if have apt-get; then
      apt_install redis-server
    elif have brew; then
      say "installing redis with Homebrew"
      brew install redis >&2 || fail "Homebrew could not install redis. See its message above."
    else
      fail "Redis is missing: $(remedy redis)"
    fi
    hash -r
  fi
  local version
  version=$(redis_version)
  is_version "${version:-0}" "$REDIS_MINIMUM" || fail "this needs Redis $REDIS_MINIMUM or newer, but" \
    "$(command -v redis-server) is version ${version:-unknown}. Remedy: $(remedy redis)"
}

redis_version() { redis-server --version 2>/dev/null | sed -n 's/.* v=\([0-9.]*\).*/\1/p'; }

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

# Any installed version suffices, because the page needs only features that are years old. On Ubuntu, chromium-browser can
# be a script that only asks for a snap: a browser prints its version.
find_chromium() {
  local name
  for name in chromium chromium-browser google-chrome google-chrome-stable chrome \
    "/Applications/Chromium.app/Contents/MacOS/Chromium" \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
    if have "$name" && [[ $(bounded 30 "$name" --version 2>/dev/null) =~ [0-9]+\.[0-9]+ ]]; then
      command -v "$name"
      return
    fi
  done
  return 1
}

# Prints the package that has a browser. Those of Ubuntu have a script that installs a snap, which containers cannot.
chromium_packages() {
  if [[ $(apt_candidate chromium-browser) != *snap* || -n $(apt_candidate chromium) ]]; then printf 'chromium'; fi
}

need_chromium() {
  if find_chromium; then return; fi
  if have apt-get; then
    [[ -z $(chromium_packages) ]] || apt_install chromium
  elif have brew; then
    say "installing google-chrome with Homebrew"
    brew install --cask google-chrome >&2 || fail "Homebrew could not install google-chrome. See its message above."
  fi
  hash -r
  find_chromium || fail "Chromium is missing: $(remedy chromium)"
}

# macOS has no `nproc`.
processors() {
  nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2
}

# Raises the limit of open files of this process as far as the system allows. macOS says that it is unlimited, and then
# refuses to set more than the kernel's own limit.
raise_open_files() {
  local most
  most=$(ulimit -Hn)
  if [[ $most == unlimited ]]; then
    most=$(sysctl -n kern.maxfilesperproc 2>/dev/null || cat /proc/sys/fs/nr_open 2>/dev/null || echo 65536)
  fi
  ulimit -Sn "$most" 2>/dev/null || say "the limit of open files stays at $(ulimit -Sn), because $most was refused"
}

# shellcheck source=infra/processes.sh
source "$root/infra/processes.sh"
# shellcheck source=infra/rust.sh
source "$root/infra/rust.sh"
# shellcheck source=infra/requirements.sh
source "$root/infra/requirements.sh"
# shellcheck source=infra/packages.sh
source "$root/infra/packages.sh"
