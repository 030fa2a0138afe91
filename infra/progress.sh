# shellcheck shell=bash
#
# Sourced by the scripts of long commands, after infra/tools.sh. Says what a command does, how far it is, and how long it
# usually takes:
#
#   plan_steps NAME COUNT   begins a command of so many steps
#   step TITLE              begins its next step
#   end_steps               ends the last step, and the command
#
# A step takes as long as the last time on this machine, which .tools/durations/NAME remembers. Before the first time it is
# the figure of infra/durations.txt, measured on two cores, if there is one.

# shellcheck disable=SC2154 # infra/tools.sh sets root and tools_dir.
readonly MEASURED_DURATIONS=$root/infra/durations.txt
steps_name='' steps_count=0 steps_begun=0 steps_began_at=0 step_title='' step_began_at=0

# Prints the seconds that a step takes, and where they are from. TITLE `all` is the whole command. Prints nothing if they are
# unknown.
usual_seconds() { # NAME TITLE
  local file name title seconds
  # shellcheck disable=SC2154
  for file in "$tools_dir/durations/$1" "$MEASURED_DURATIONS"; do
    [[ -f $file ]] || continue
    while IFS=$'\t' read -r name title seconds; do
      if [[ $name == "$1" && $title == "$2" ]]; then
        if [[ $file == "$MEASURED_DURATIONS" ]]; then
          printf '%s usually\n' "$seconds"
        else
          printf '%s last time\n' "$seconds"
        fi
        return
      fi
    done <"$file"
  done
}

# Prints seconds as a person says them.
show_seconds() { # SECONDS
  if (($1 < 100)); then
    printf '%d s' "$1"
  elif (($1 < 5400)); then
    printf '%d min' $((($1 + 30) / 60))
  else
    printf '%d h %d min' $(($1 / 3600)) $(($1 % 3600 / 60))
  fi
}

# Prints `, 4 min last time`, or nothing.
show_usual() { # NAME TITLE
  local usual
  usual=$(usual_seconds "$1" "$2")
  if [[ -n $usual ]]; then printf ', %s %s' "$(show_seconds "${usual%% *}")" "${usual#* }"; fi
}

plan_steps() { # NAME COUNT
  steps_name=$1 steps_count=$2 steps_begun=0 steps_began_at=$SECONDS step_title=''
  say "$1: $2 steps$(show_usual "$1" all)"
}

step() { # TITLE
  record_step
  steps_begun=$((steps_begun + 1)) step_title=$1 step_began_at=$SECONDS
  say "$steps_name, step $steps_begun of $steps_count: $1$(show_usual "$steps_name" "$1")"
}

end_steps() {
  record_step
  local seconds=$((SECONDS - steps_began_at))
  remember_duration all "$seconds"
  say "$steps_name: done after $(show_seconds "$seconds")"
}

record_step() {
  if [[ -n $step_title ]]; then remember_duration "$step_title" $((SECONDS - step_began_at)); fi
  step_title=''
}

remember_duration() { # TITLE SECONDS
  local file=$tools_dir/durations/$steps_name
  mkdir -p "$tools_dir/durations"
  touch "$file"
  {
    grep -vF "$steps_name"$'\t'"$1"$'\t' "$file" || true
    printf '%s\t%s\t%s\n' "$steps_name" "$1" "$2"
  } >"$file.$$"
  mv "$file.$$" "$file"
}
