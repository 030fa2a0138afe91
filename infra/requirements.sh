# shellcheck shell=bash
#
# Sourced by infra/tools.sh. What `make run`, `make check` and `make test` need, in one table:
#
#   require_for COMMAND  fails if something is missing that the scripts cannot install, and names all of it at once. COMMAND
#                        is run, check or test
#   print_tools COMMAND...  prints the table, and fails in the same case. Installs nothing
#
# shellcheck disable=SC2154 # infra/tools.sh sets root.

# The tools of the system, and those from PyPI and npm, which the scripts always can install once there is a Python.
readonly SYSTEM_TOOLS="rust compiler git python redis openssl nginx chromium"
readonly DOWNLOADED_TOOLS="node cargo-nextest valkey ministack cargo-deny shellcheck sam checkov"

tool_title() { # TOOL
  case $1 in
    rust) printf 'Rust %s' "$(rust_pinned)" ;;
    compiler) printf 'C compiler' ;;
    git | openssl | nginx | cargo-nextest | cargo-deny | shellcheck | checkov) printf '%s' "$1" ;;
    python) printf 'Python %s with venv' "${PYTHON_MINIMUM/, /.}" ;;
    redis) printf 'Redis %s' "$REDIS_MINIMUM" ;;
    chromium) printf 'Chromium or Chrome' ;;
    node) printf 'Node.js %s' "$NODE_MINIMUM" ;;
    valkey) printf 'Valkey' ;;
    ministack) printf 'MiniStack' ;;
    sam) printf 'SAM CLI' ;;
  esac
}

# The commands that need a tool.
tool_commands() { # TOOL
  case $1 in
    rust | compiler) printf 'run check test' ;;
    git | python | node) printf 'check test' ;;
    cargo-deny | shellcheck | sam | checkov) printf 'check' ;;
    *) printf 'test' ;;
  esac
}

# Prints the version of a tool of the system, or nothing if it is missing.
found_version() { # TOOL
  local program version
  case $1 in
    rust)
      have cargo || return 0
      if have rustup && ! rustup toolchain list 2>/dev/null | grep -q "^$(rust_pinned)"; then
        rust_pinned # rustup installs it when cargo is first used.
      else
        version=$(cd "$root" && cargo --version 2>/dev/null) || return 0
        version=${version#cargo }
        printf '%s\n' "${version%% *}"
      fi
      ;;
    compiler)
      # On macOS the program exists without the tools of Xcode, and then only asks for them.
      for program in cc gcc clang; do
        version=$("$program" --version 2>/dev/null) || continue
        printf '%s\n' "${version%%$'\n'*}" | sed 's/ *([^)]*)//; s/.* \([0-9][0-9.]*\).*/\1/'
        return
      done
      ;;
    git) if have git; then git --version | sed 's/[^0-9]*\([0-9.]*\).*/\1/'; fi ;;
    openssl) if have openssl; then openssl version | sed 's/[^0-9]*\([0-9.]*[a-z]*\).*/\1/'; fi ;;
    python)
      if program=$(find_python); then
        "$program" --version 2>&1 | sed 's/[^0-9]*//'
      elif have python3; then
        version=$(python3 --version 2>&1) || return 0
        version=${version#Python }
        if is_version "$version" "${PYTHON_MINIMUM/, /.}"; then version="$version, no venv"; fi
        printf '%s\n' "$version"
      fi
      ;;
    redis) if have redis-server && have redis-cli; then redis_version; fi ;;
    nginx) if program=$(find_nginx); then "$program" -v 2>&1 | sed 's/[^0-9]*\([0-9.]*\).*/\1/'; fi ;;
    chromium) if program=$(find_chromium); then "$program" --version 2>/dev/null | sed 's/[^0-9]*\([0-9.]*\).*/\1/'; fi ;;
  esac
}

is_sufficient() { # TOOL VERSION
  case $1 in
    rust) is_version "${2:-0}" "$(rust_minimum)" ;;
    redis) is_version "${2:-0}" "$REDIS_MINIMUM" ;;
    python) [[ -n $2 && $2 != *venv ]] && is_version "$2" "${PYTHON_MINIMUM/, /.}" ;;
    *) [[ -n $2 ]] ;;
  esac
}

# Prints the packages that the scripts would install, with the program that installs them, or nothing if they cannot.
installation() { # TOOL VERSION
  local packages='' candidate
  if have apt-get && { is_root || have sudo; }; then
    case $1 in
      redis)
        candidate=$(apt_candidate redis-server)
        if [[ -z $2 ]] && { [[ -z $candidate ]] || is_version "$candidate" "$REDIS_MINIMUM"; }; then packages=redis-server; fi
        ;;
      python) packages=$(python_packages) ;;
      chromium) packages=$(chromium_packages) ;;
      nginx | openssl) packages=$1 ;;
    esac
    printf '%s' "${packages:+apt-get install $packages}"
  elif have brew; then
    case $1 in
      redis) if [[ -z $2 ]]; then printf 'brew install redis'; fi ;;
      python | nginx) printf 'brew install %s' "$1" ;;
      chromium) printf 'brew install --cask google-chrome' ;;
    esac
  fi
}

# What a person has to do if the scripts cannot install a tool.
remedy() { # TOOL
  case $1 in
    rust) printf 'install rustup from https://rustup.rs, then open a new shell' ;;
    compiler)
      if have apt-get; then
        printf 'apt-get install build-essential'
      elif [[ $(uname -s) == Darwin ]]; then
        printf 'xcode-select --install'
      else
        printf "install gcc or clang, with the system's package manager"
      fi
      ;;
    redis)
      # The Valkey of PyPI is no replacement: it has neither a command line program nor TLS.
      printf 'install redis-server and redis-cli %s or newer: Ubuntu 22.04 has 6 only, so take the packages of Redis, ' \
        "$REDIS_MINIMUM"
      printf 'https://redis.io/docs/latest/operate/oss_and_stack/install/'
      ;;
    python) printf 'install Python %s or newer with its venv module' "${PYTHON_MINIMUM/, /.}" ;;
    chromium) printf 'install Google Chrome from https://www.google.com/chrome, or on Ubuntu: snap install chromium' ;;
    *) if have apt-get; then printf 'apt-get install %s' "$1"; else printf "install %s with the system's package manager" "$1"; fi ;;
  esac
}

print_row() { printf '%-24s %-16s %-16s %s\n' "$@"; }

# Prints a row for a tool of the system. Fails if it is missing and the scripts cannot install it.
print_tool() { # TOOL
  local version shown packages
  version=$(found_version "$1")
  shown=${version:-missing}
  if is_sufficient "$1" "$version"; then
    print_row "$(tool_title "$1")" "$shown" "$(tool_commands "$1")" ""
    return
  fi
  if [[ -n $version ]]; then shown="$version: too old"; fi
  if [[ $version == *venv ]]; then shown=$version; fi
  packages=$(installation "$1" "$version")
  if [[ -n $packages ]]; then
    print_row "$(tool_title "$1")" "$shown" "$(tool_commands "$1")" "the scripts install it: $packages"
    return
  fi
  print_row "$(tool_title "$1")" "$shown" "$(tool_commands "$1")" "$(remedy "$1")"
  return 1
}

# Prints a row for a tool that the scripts install in .tools.
print_downloaded_tool() { # TOOL
  local shown='not yet' how='the scripts install it in .tools' directory=$1
  case $1 in
    node) if have node; then shown=$(node --version) how=''; fi ;;
    cargo-nextest)
      directory=nextest
      if have cargo-nextest; then shown=$(cargo-nextest nextest --version | sed -n '1s/^[^ ]* \([0-9.]*\).*/\1/p') how=''; fi
      ;;
    cargo-deny) directory=deny ;;
  esac
  if [[ -n $how && -e $tools_dir/$directory/installed ]]; then shown='in .tools' how=''; fi
  print_row "$(tool_title "$1")" "$shown" "$(tool_commands "$1")" "$how"
}

is_needed() { # TOOL COMMAND...
  local command
  for command in "${@:2}"; do
    [[ " $(tool_commands "$1") " != *" $command "* ]] || return 0
  done
  return 1
}

print_tools() { # COMMAND...
  local tool complete=yes
  print_row what found 'needed for make' 'how to get it'
  for tool in $SYSTEM_TOOLS; do
    is_needed "$tool" "$@" || continue
    print_tool "$tool" || complete=
  done
  for tool in $DOWNLOADED_TOOLS; do
    is_needed "$tool" "$@" || continue
    print_downloaded_tool "$tool"
  done
  [[ -n $complete ]]
}

require_for() { # COMMAND
  local tool row rows=
  for tool in $SYSTEM_TOOLS; do
    is_needed "$tool" "$1" || continue
    row=$(print_tool "$tool") || rows+=$row$'\n'
  done
  [[ -n $rows ]] || return 0
  say "make $1 needs what is missing here. \`make doctor\` shows all that it needs."
  print_row what found 'needed for make' 'how to get it' >&2
  printf '%s' "$rows" >&2
  exit 1
}
