# shellcheck shell=bash
#
# Sourced by infra/tools.sh. Runs and ends other programs:
#
#   run_until_end COMMAND...     runs a long command. A signal to this script ends it at once, with all that it started
#   bounded SECONDS COMMAND...   runs a command for at most so long
#   end_jobs SECONDS             stops the background jobs of this shell
#   list_trees PID...            prints the running ones of these processes, and those that they started
#
# bash acts on a signal only when the command that it waits for has ended. A script whose SIGTERM comes during a long
# command would leave that command running, or wait for it. So run_until_end starts the command in the background and
# waits: bash then acts at once. Each script that runs something long uses it, so that a signal passes from the first
# script to the last, and each cleans up behind itself.

# How long a command may take for its own cleaning up. Then whatever it left gets SIGTERM, and after the second time
# SIGKILL.
CHILD_END_SECONDS=${CHILD_END_SECONDS:-10}
readonly REST_END_SECONDS=4
readonly INTERRUPT_SECONDS=2 # Ctrl-C reaches the command, too. A SIGTERM in addition would make it hurry.

child_pid='' child_signal=''
child_pid_file='' # A script that names one finds the process id of the command in it.

# Exits with the status of the command, or with that of the signal: the trap of EXIT then cleans up. The command keeps the
# standard input and the process group, so Ctrl-C reaches it, and it can ask for a password.
run_until_end() { # COMMAND...
  local status=0
  child_pid='' child_signal=''
  trap 'end_child HUP 129' HUP
  trap 'end_child INT 130' INT
  trap 'end_child TERM 143' TERM
  (
    trap - INT QUIT # bash lets background processes ignore both. Bash 3.2 cannot undo that, and then SIGTERM does it.
    VESTIBULE_LEADER_PID=$$ exec "$@"
  ) <&0 &
  child_pid=$!
  if [[ -n $child_pid_file ]]; then printf '%s\n' "$child_pid" >"$child_pid_file"; fi
  if [[ -n $child_signal ]]; then end_child "$child_signal" 143; fi
  wait "$child_pid" || status=$?
  child_pid=''
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  return "$status"
}

# The trap of run_until_end.
end_child() { # SIGNAL STATUS
  child_signal=$1
  [[ -n $child_pid ]] || return 0 # It starts in this moment, and run_until_end looks again.
  trap '' HUP INT TERM # A second Ctrl-C must not leave anything behind.
  local all rest deadline
  all=$(list_trees "$child_pid")
  if [[ $1 == INT ]]; then await_end "$INTERRUPT_SECONDS" || true; fi
  kill -s TERM "$child_pid" 2>/dev/null || true
  await_end "$CHILD_END_SECONDS" || say "ending the command after $CHILD_END_SECONDS s"
  disown "$child_pid" 2>/dev/null || true # A signal during `wait` can leave bash with a job that never ends.
  # shellcheck disable=SC2086 # Several process ids.
  rest=$(list_trees $all)
  # shellcheck disable=SC2086
  if [[ -n $rest ]]; then kill -s TERM $rest 2>/dev/null || true; fi
  deadline=$((SECONDS + REST_END_SECONDS))
  # shellcheck disable=SC2086
  while rest=$(list_trees $all $rest) && [[ -n $rest ]]; do
    if ((SECONDS >= deadline)); then kill -s KILL $rest 2>/dev/null || true; fi
    if ((SECONDS >= deadline + REST_END_SECONDS)); then break; fi
    sleep 0.1
  done
  exit "$2"
}

# Waits for the end of the child. Fails if it does not end in time.
await_end() { # SECONDS
  local deadline=$((SECONDS + $1))
  while kill -0 "$child_pid" 2>/dev/null; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

# Prints the id of each process and that of its parent, without those that have ended and were not waited for.
list_processes() {
  local file line pid
  if ! have ps; then # Minimal images of Linux have none.
    for file in /proc/[0-9]*/stat; do
      IFS= read -r line 2>/dev/null <"$file" || continue
      pid=${line%% *} line=${line##*) } # The name between the brackets can contain anything.
      read -r file line _ <<<"$line"
      [[ $file == Z ]] || printf '%s %s\n' "$pid" "$line"
    done
    return
  fi
  ps -A -o pid= -o ppid= -o stat= | awk '$3 !~ /^Z/ { print $1, $2 }'
}

list_trees() { # PID...
  list_processes | awk -v seeds="$*" '
    BEGIN { count = split(seeds, pids, " ") ; for (i = 1; i <= count; i++) wanted[pids[i]] = 1 }
    { parent[$1] = $2 }
    END {
      do {
        found = 0
        for (pid in parent) if (!(pid in wanted) && (parent[pid] in wanted)) { wanted[pid] = 1; found = 1 }
      } while (found)
      for (pid in parent) if (pid in wanted) print pid
    }'
}

# macOS has no `timeout`.
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

# SIGTERM first, SIGKILL after SECONDS. A job is a process group if `set -m` was on at its start.
end_jobs() { # SECONDS
  local deadline=$((SECONDS + $1)) signal=TERM job is_left=yes
  while [[ -n $is_left ]]; do
    is_left=
    for job in $(jobs -pr); do
      if kill -s "$signal" -- "-$job" 2>/dev/null || kill -s "$signal" "$job" 2>/dev/null; then is_left=yes; fi
    done
    sleep 0.1
    if ((SECONDS >= deadline)); then signal=KILL; fi
  done
}
