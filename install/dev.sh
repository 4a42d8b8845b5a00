#!/bin/sh
# Runs svc, or a task of deno.json, from source:
#
#   sh install/dev.sh chat -p "ls"     any svc command, in the current directory
#   sh install/dev.sh test             a task: test, check, compile, release, bench, contract, attack,
#                                      soak, web, screenshots, docs, edits
#
# It uses the deno on PATH if its version is recent enough, otherwise it fetches one through npx.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
version=2.7.11

# Deno trusts only its own list of certificate authorities; a machine behind a proxy needs the system's.
export DENO_TLS_CA_STORE="${DENO_TLS_CA_STORE:-mozilla,system}"

recent() {
  found=$(deno --version 2>/dev/null | sed -n 's/^deno \([0-9.]*\).*/\1/p')
  [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$version" "$found" | sort -V | head -n 1)" = "$version" ]
}

if recent; then
  deno() { command deno "$@"; }
elif command -v npx >/dev/null 2>&1; then
  deno() { npx --yes "deno@$version" "$@"; }
else
  echo "dev.sh: install deno $version or npx: https://docs.deno.com/runtime/" >&2
  exit 1
fi

# Fetches missing packages, visibly; once they are cached, this takes a few milliseconds.
deno cache --config="$root/deno.json" "$root/main.ts" >&2
# Builds the web app if a source of it has changed.
deno task --quiet --config="$root/deno.json" web --if-stale >&2

case "${1-}" in
  test | check | compile | release | bench | contract | attack | soak | web | screenshots | docs | edits)
    deno task --quiet --config="$root/deno.json" "$@"
    ;;
  *)
    deno run --quiet --permission-set --config="$root/deno.json" "$root/main.ts" "$@"
    ;;
esac
