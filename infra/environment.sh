# shellcheck shell=bash
#
# Sourced by infra/tools.sh, before anything else. What happens to be set in the shell of a developer, of a git hook or of a
# CI system must not change what a script does.
#
#   neutral_environment   removes such settings, at once
#   forget_aws_account    removes what names an account of AWS, for tests against emulators. Arguments are variables to keep
#
# Variables that choose a registry, a proxy, a cache or an authority stay: closed networks need them.

LOOPBACK_HOSTS=127.0.0.1,localhost,::1
TMPDIR_CHARACTERS_MAX=60 # A socket of Unix has a path of at most 104 characters, and programs append to the folder.

neutral_environment() {
  # Decimal commas, other collations, the Turkish i and translated messages. macOS has no C.UTF-8.
  unset LANGUAGE
  if [[ $(uname) == Darwin ]]; then export LC_ALL=C; else export LC_ALL=C.UTF-8; fi
  export PYTHONUTF8=1
  # Servers of other users read what is written, such as nginx and containers.
  umask 022
  neutral_folders
  # `cd` would look elsewhere and print, the other shells would begin with a file, and grep and tar have further options.
  unset CDPATH BASH_ENV ENV GREP_OPTIONS TAR_OPTIONS POSIXLY_CORRECT
  # A git hook sets these: git, and cargo by it, would act on that repository instead of the one of their folder.
  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_NAMESPACE GIT_CONFIG_PARAMETERS
  neutral_languages
  # redis-cli would send the password of another server.
  unset REDISCLI_AUTH
  # A proxy knows no server of this machine. Clients differ in which of the two they read.
  NO_PROXY=$LOOPBACK_HOSTS${NO_PROXY:+,$NO_PROXY}
  no_proxy=$LOOPBACK_HOSTS${no_proxy:+,$no_proxy}
  export NO_PROXY no_proxy
}

# nginx and scripts of other projects split a path at spaces.
neutral_folders() {
  local folder=${TMPDIR:-/tmp}
  if [[ ! -d $folder || ! -w $folder || $folder == *[[:space:]]* || ${#folder} -gt $TMPDIR_CHARACTERS_MAX ]]; then
    export TMPDIR=/tmp
  fi
  # Bash knows the home of a user without HOME, and few other programs do.
  if [[ -z ${HOME:-} ]]; then
    unset HOME
    HOME=~
    export HOME
  fi
  # npm, pip and Chromium write below it.
  if [[ ! -d $HOME || ! -w $HOME ]]; then
    export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$tools_dir/home/cache} XDG_CONFIG_HOME=${XDG_CONFIG_HOME:-$tools_dir/home/config}
    export npm_config_cache=${npm_config_cache:-$tools_dir/home/npm}
  fi
}

# Modules and options that another program wants to have loaded, packages that it leaves out, and folders that it installs in.
neutral_languages() {
  local name
  unset PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONWARNINGS PYTHONOPTIMIZE PYTHONSAFEPATH
  unset PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV PIP_NO_BINARY
  export PIP_USER=0 # Also against a file of the user.
  unset NODE_ENV NODE_OPTIONS NODE_PATH PWDEBUG
  # `npm run` sets dozens.
  for name in $(compgen -e); do
    case $name in
      npm_config_*registry* | npm_config_*proxy* | npm_config_*ca | npm_config_cafile | npm_config_cache) ;;
      npm_config_*auth* | npm_config_userconfig | npm_config_strict_ssl) ;;
      npm_config_* | NPM_CONFIG_OMIT | NPM_CONFIG_PRODUCTION) unset "$name" ;;
    esac
  done
}

# shellcheck disable=SC2317 # Scripts that source this file call it.
forget_aws_account() { # VARIABLE...
  local name
  for name in $(compgen -e); do
    if [[ $name == AWS_* && " $* " != *" $name "* ]]; then unset "$name"; fi
  done
}

neutral_environment
