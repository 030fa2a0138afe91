# shellcheck shell=bash
#
# Sourced by infra/tools.sh. What the scripts know of Rust:
#
#   need_cargo         fails if there is no Rust that is new enough, and says where to get it
#   cargo_target       prints the folder in which the programs of each profile are, in debug, local and release
#   cargo_output       prints cargo's folder for everything else, such as lambda. It is the same, unless cargo's settings
#                      name a triple
#   need_rust_target   installs the standard library for another processor, with rustup
#
# A script that builds calls need_cargo first, which also exports what its children need.
#
# shellcheck disable=SC2154 # infra/tools.sh sets root.

# Prints the version that rustup installs, and the oldest one that compiles.
rust_pinned() { sed -n 's/^channel = "\(.*\)"/\1/p' "$root/rust-toolchain.toml"; }
rust_minimum() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml"; }

# Whether a version is at least another one. `sort -V` is not everywhere.
is_version() { # VERSION MINIMUM
  local found=() wanted=() at
  IFS=. read -r -a found <<<"${1%%[!0-9.]*}"
  IFS=. read -r -a wanted <<<"$2"
  for at in 0 1 2; do
    if ((10#${found[at]:-0} > 10#${wanted[at]:-0})); then return 0; fi
    if ((10#${found[at]:-0} < 10#${wanted[at]:-0})); then return 1; fi
  done
}

need_cargo() {
  local version
  have cargo || fail "Rust is missing: the command cargo is not found. Install Rust $(rust_pinned) from https://rustup.rs," \
    "open a new shell, and run this again."
  version=$(cd "$root" && cargo --version) || fail "cargo does not start. See its message above. This needs Rust" \
    "$(rust_pinned), from https://rustup.rs."
  version=${version#cargo } version=${version%% *}
  is_version "$version" "$(rust_minimum)" || fail "this needs Rust $(rust_minimum) or newer, but $(command -v cargo) is" \
    "version $version. Install Rust $(rust_pinned) from https://rustup.rs, open a new shell, and run this again."
  find_cargo_target
}

# Asks cargo once for a tree of processes, because its settings can come from variables and from several files. A triple
# in them (`build.target`) would put the programs into another folder, and might be one that does not run here: so the
# triple is then that of this machine.
find_cargo_target() {
  [[ -z ${VESTIBULE_CARGO_TARGET:-} ]] || return 0
  local metadata
  metadata=$(cd "$root" && cargo metadata --no-deps --format-version 1) || fail "cargo metadata failed. See its message above."
  VESTIBULE_CARGO_TARGET=$(sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p' <<<"$metadata")
  [[ -n $VESTIBULE_CARGO_TARGET ]] || fail "cargo metadata does not say where cargo puts its output."
  VESTIBULE_CARGO_TRIPLE=
  # The command is not stable yet. If it fails, no triple is set, or this cargo has no such command.
  if (cd "$root" && RUSTC_BOOTSTRAP=1 cargo -Z unstable-options config get build.target) >/dev/null 2>&1; then
    VESTIBULE_CARGO_TRIPLE=$(cd "$root" && rustc --version --verbose | sed -n 's/^host: //p')
    export CARGO_BUILD_TARGET=$VESTIBULE_CARGO_TRIPLE
  fi
  export VESTIBULE_CARGO_TARGET VESTIBULE_CARGO_TRIPLE
}

cargo_target() {
  find_cargo_target
  printf '%s\n' "$VESTIBULE_CARGO_TARGET${VESTIBULE_CARGO_TRIPLE:+/$VESTIBULE_CARGO_TRIPLE}"
}

cargo_output() {
  find_cargo_target
  printf '%s\n' "$VESTIBULE_CARGO_TARGET"
}

need_rust_target() { # TRIPLE
  [[ -d $(rustc --print sysroot)/lib/rustlib/$1/lib ]] && return
  have rustup || fail "Rust's standard library for $1 is missing, and rustup is not installed. Install one of them."
  say "installing Rust's standard library for $1"
  with_retries rustup target add "$1" >&2 || fail "rustup could not install $1. See its message above."
}
