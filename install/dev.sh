#!/bin/sh
# Runs svc, or a task of deno.json, from source:
#
#   sh install/dev.sh chat -p "ls"     any svc command, in the current directory
#   sh install/dev.sh test             a task: test, check, compile, release, bench, contract, attack,
#                                      soak, web, screenshots, docs, edits, lines
#
# It uses the deno on PATH if its version is recent enough. Otherwise it fetches one with npm, once.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
config=$root/deno.json
cache=${XDG_CACHE_HOME:-$HOME/.cache}
version=2.7.11

# Deno trusts only its own list of certificate authorities; a machine behind a proxy needs the system's.
export DENO_TLS_CA_STORE="${DENO_TLS_CA_STORE:-mozilla,system}"

fail() {
  echo "dev.sh: $1" >&2
  exit 1
}

# Whether a program is a Deno that is recent enough.
recent() {
  found=$("$1" --version 2>/dev/null | sed -n 's/^deno \([0-9.]*\).*/\1/p')
  [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$version" "$found" | sort -V | head -n 1)" = "$version" ]
}

# Fetches Deno to $deno. npx would keep the archive too, another 50 MB, and start Node each time.
fetch_deno() {
  command -v npm >/dev/null 2>&1 ||
    fail "install deno $version or npm: https://docs.deno.com/runtime/"
  echo "dev.sh: fetching Deno $version, 50 MB, once, to ${deno%/*}" >&2
  mkdir -p "${deno%/*}"
  new=$(mktemp -d "${deno%/*}/new.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  trap 'exit 1' HUP INT TERM
  npm install --prefix "$new" --cache "$new/cache" --no-save --ignore-scripts --no-audit --no-fund \
    --no-update-notifier --loglevel=error "deno@$version" >/dev/null ||
    fail "npm could not fetch deno $version; install it another way: https://docs.deno.com/runtime/"
  for binary in "$new"/node_modules/@deno/*/deno; do
    [ -f "$binary" ] || fail "npm has no deno for this system: https://docs.deno.com/runtime/"
    # Whole at once: another dev.sh may do the same.
    mv -f "$binary" "$deno"
  done
  rm -rf "$new"
  trap - EXIT HUP INT TERM
}

# Runs a command of Deno that fetches packages, unless it ran before with this deno.lock. What it
# fetches is shown in one line, what else it prints only if it fails.
fetch_packages() {
  fetched=${DENO_DIR:-$cache/deno}/svc-packages/$1-$(cksum <"$root/deno.lock" | tr ' ' -)
  shift
  if [ -f "$fetched" ]; then return; fi
  # Deno's exit code is in the last line: a pipe has only that of its last command.
  {
    NO_COLOR=1 "$deno" "$@" 2>&1 && echo fetched || echo failed
  } | {
    files=0 said='' line=failed
    while IFS= read -r line; do
      case $line in
        Download*)
          files=$((files + 1))
          if [ -t 2 ]; then
            printf '\rdev.sh: fetching packages, once: %d files' "$files" >&2
          elif [ "$files" = 1 ]; then
            echo 'dev.sh: fetching packages, once' >&2
          fi
          ;;
        fetched | failed) break ;;
        *) said="$said$line
" ;;
      esac
    done
    if [ "$files" -gt 0 ] && [ -t 2 ]; then echo >&2; fi
    if [ "$line" = fetched ]; then exit 0; fi
    printf %s "$said" >&2
    exit 1
  } || exit 1
  mkdir -p "${fetched%/*}" && : >"$fetched"
}

# The name for svc in its hints, such as `sh install/dev.sh`.
called_as() {
  case $0 in
    *[!A-Za-z0-9_./@%+=:,-]*) printf "sh '%s'" "$(printf %s "$0" | sed "s/'/'\\\\''/g")" ;;
    *) printf 'sh %s' "$0" ;;
  esac
}

deno=deno
if ! recent deno; then
  # Commands of sessions see directories of programs that are called bin.
  deno=$cache/svc-dev/deno-$version/bin/deno
  recent "$deno" || fetch_deno
fi

case "${1-}" in
  test | check | compile | release | bench | contract | attack | soak | web | screenshots | docs | edits | lines)
    # What a task starts finds the same Deno.
    if [ "$deno" != deno ]; then export PATH="${deno%/*}:$PATH"; fi
    # Tasks use all packages, those of tests too.
    fetch_packages tasks install --config="$config"
    case $1 in
      # They look at sources only, or build the web app themselves.
      check | compile | release | web | docs | edits | lines) ;;
      # Builds the web app if a source of it has changed.
      *) "$deno" task --quiet --config="$config" web --if-stale >&2 ;;
    esac
    "$deno" task --quiet --config="$config" "$@"
    ;;
  *)
    # Only what svc uses: main.ts and what it starts as workers.
    fetch_packages svc cache --config="$config" "$root/main.ts" \
      "$root/src/jail/unit/main.ts" "$root/src/features/search/index_worker.ts" \
      "$root/src/features/tasks/executors/research/extract_worker.ts"
    case "${1-}" in serve | open | desktop) wants_app=yes ;; *) wants_app='' ;; esac
    # Whoever has not opened the web app needs neither its packages nor the bundler.
    if [ "$wants_app" ] || [ -f "$root/web/dist/manifest.json" ]; then
      "$deno" run --quiet --config="$config" --allow-read --allow-write="$root/web" --allow-run \
        "$root/install/web.ts" --if-stale >&2
    fi
    "$deno" run --quiet --permission-set --config="$config" "$root/main.ts" \
      --called-as="$(called_as)" "$@"
    ;;
esac
