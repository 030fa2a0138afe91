#!/bin/sh
#
# Runs in the build stage of the Dockerfile. Compiles the runner, unless the build image has it already (infra/image.sh), and puts
# all that the image has into a folder: the program, the libraries that it loads, certificates, and the folder of its data.
#
#   infra/image-root.sh FOLDER
set -eu

folder=$1
system=$folder/system
program=/prebuilt/vestibule-local
if [ ! -x "$program" ]; then
  if [ -n "${CARGO_MIRROR:-}" ]; then
    set -- --config 'source.crates-io.replace-with="mirror"' --config "source.mirror.registry=\"$CARGO_MIRROR\""
  else
    set --
  fi
  cargo build "$@" --target-dir target --profile local --locked --package vestibule-local
  program=target/local/vestibule-local
fi

mkdir -p "$system/usr/bin" "$system/etc/ssl/certs" "$system/tmp" "$folder/data"
chmod 1777 "$system/tmp"
chmod 700 "$folder/data"
cp "$program" "$system/usr/bin/vestibule-local"

# The loader prints what it would load, as `ldd` does.
for loader in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do
  if [ -e "$loader" ]; then
    LD_TRACE_LOADED_OBJECTS=1 "$loader" "$program" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | while read -r library; do
      mkdir -p "$system$(dirname "$library")"
      cp -L "$library" "$system$library"
    done
    mkdir -p "$system$(dirname "$loader")"
    cp -L "$loader" "$system$loader"
  fi
done

cp -L /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/"
echo 'vestibule:x:10001:10001::/data:' >"$system/etc/passwd"
echo 'vestibule:x:10001:' >"$system/etc/group"
echo 'hosts: files dns' >"$system/etc/nsswitch.conf"
