#!/usr/bin/env bash
# Runs the tests of the last commit from clones in places where they have failed before: below /tmp,
# in a closed home, as somebody else, with a blank and an umlaut in the path; each with surroundings
# of its own. Prints a line for each place, and at the end the sum.
#
#   bash tests/places.sh                    the files that look at the machine, in four places
#   bash tests/places.sh PLACE…             the same in these places
#   bash tests/places.sh --whole [PLACE…]   the whole test command, in all places or these
#
# As root it makes a user for the place in /home, and removes it. SVC_BIN names a binary of the same
# commit, which each place gets a copy of; without it, it is compiled first. Of the files that look at
# the machine none needs the web app from source: places get a copy of it too, where it was built.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)

# name: where it is, and what is special about it.
declare -A about=(
  [tmp]="below /tmp, TMPDIR unset, an empty HOME, Node alone on PATH"
  [root]="in a 0700 home, with Deno, TMPDIR and links to the programs in it, LANG=C, a dead HTTP_PROXY"
  [user]="in /home, as that user, no IPv6"
  [umlaut]="a blank and an umlaut in the path, HOME and TMPDIR elsewhere"
  [var-tmp]="below /var/tmp, TMPDIR unset, an empty HOME"
  [srv]="below /srv, TMPDIR elsewhere"
  [bare]="below /srv, an empty HOME, nothing fetched yet, Node alone on PATH"
)
small=(tmp root user umlaut)
all=(tmp root user umlaut var-tmp srv bare)
# What looks at programs, directories, other users, terminals and browsers: svc from source, and the
# binary.
from_source=(
  src/jail/{sandbox,forwarder}_test.ts
  tests/everyone_test.ts tests/integration/tool_servers_test.ts
)
of_binary=(
  tests/contract/contract_2_listeners_test.ts
  tests/integration/{jail,command_space}_test.ts
  tests/attack/{clients,planted_programs}_test.ts
  tests/web/back_test.ts
)

whole=
if [ "${1-}" = --whole ]; then
  whole=yes
  shift
fi
places=("$@")
if [ $# = 0 ] && [ -n "$whole" ]; then places=("${all[@]}"); fi
if [ $# = 0 ] && [ -z "$whole" ]; then places=("${small[@]}"); fi
for place in "${places[@]}"; do
  if [ -z "${about[$place]-}" ]; then
    echo "places.sh: there is no place $place; there are ${all[*]}" >&2
    exit 2
  fi
done

is_root() { [ "$(id -u)" = 0 ]; }
# The user that was made, if there is one.
user=
made=()
begun=()
# Also what others than root may not enter is made with the modes that most systems give.
umask 022
clean_up() {
  local each
  for each in ${begun[@]+"${begun[@]}"}; do kill "$each" 2>/dev/null || true; done
  if [ ${#begun[@]} -gt 0 ]; then wait "${begun[@]}" 2>/dev/null || true; fi
  if [ ${#made[@]} -gt 0 ]; then rm -rf "${made[@]}"; fi
  if [ -n "$user" ] && id "$user" >/dev/null 2>&1; then userdel "$user"; fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Makes a directory and remembers to remove it.
new_directory() {
  local path
  path=$(mktemp -d "$1/svc-places-XXXXXX")
  made+=("$path")
  chmod "${2-755}" "$path"
  fresh=$path
}

new_directory /tmp
scratch=$fresh
modules=${DENO_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/deno}
store=${DENO_TLS_CA_STORE:-mozilla,system}

# The programs of this machine but Deno, as one directory; npx fetches Deno into the HOME, since
# npm_config_prefix keeps it from one that is installed for all.
node_alone=$scratch/programs
mkdir "$node_alone"
for directory in /bin /usr/bin /sbin /usr/sbin; do
  # shellcheck disable=SC2016 # the inner shell expands it
  find "$directory/" -maxdepth 1 ! -type d ! -name deno -exec sh -c 'ln -sf "$@" "$0"' "$node_alone/" {} +
done
ln -sf "$(command -v node)" "$(command -v npx)" "$node_alone/"

# Runs a program in a new network, of which there is only the loopback of IPv4.
cat >"$scratch/without_ipv6.sh" <<'END'
for off in /proc/sys/net/ipv6/conf/*/disable_ipv6; do
  if [ -e "$off" ]; then echo 1 >"$off"; fi
done
"$1" link set lo up
shift
exec "$@"
END

binary=${SVC_BIN-}
app=$repository/web/dist
if [ -z "$binary" ]; then
  git clone --quiet "$repository" "$scratch/compile"
  binary=$scratch/compile/dist/svc
  app=$scratch/compile/web/dist
  if ! sh "$scratch/compile/install/dev.sh" compile --output "$binary" >"$scratch/compile.log" 2>&1; then
    echo "places.sh: no binary could be compiled; svc runs from source"
    binary=
  fi
fi

# Copies Deno into a directory.
copy_deno() {
  cp --reflink=auto \
    "$(command -v deno || npx --yes deno@2.7.11 eval 'console.log(Deno.execPath())')" "$1/deno"
}

# Sets what a place is: its directory, who runs it, and with what environment.
choose() {
  unset_names=(TMPDIR LC_ALL XDG_RUNTIME_DIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME)
  variables=(HOME="$HOME" PATH="$PATH" LANG="${LANG-C.UTF-8}" DENO_DIR="$modules")
  as=()
  lacks=
  case $1 in
    tmp)
      new_directory /tmp
      checkout=$fresh/svc
      mkdir "$fresh/home"
      variables+=(HOME="$fresh/home" PATH="$node_alone" npm_config_prefix="$fresh/prefix")
      ;;
    root)
      # Others may not enter the home of most people.
      new_directory "$HOME" 700
      checkout=$fresh/svc
      mkdir "$fresh/tmp" "$fresh/deno"
      copy_deno "$fresh/deno"
      cp -R "$node_alone" "$fresh/programs"
      ln -s "$fresh/deno/deno" "$fresh/programs/"
      variables+=(TMPDIR="$fresh/tmp" PATH="$fresh/programs" LANG=C LC_ALL=C)
      for name in http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY; do
        variables+=("$name=http://127.0.0.1:9")
      done
      ;;
    user)
      if ! is_root; then
        lacks="root"
        return
      fi
      user=svc-places-$$
      useradd --create-home "$user"
      local home
      home=$(getent passwd "$user" | cut -d: -f6)
      made+=("$home")
      checkout=$home/svc
      mkdir -p "$home/.local/bin" "$home/.cache/deno"
      copy_deno "$home/.local/bin"
      # Without a network nothing is fetched there: packages, and the bundler of the web app.
      for part in npm dl; do
        if [ -d "$modules/$part" ]; then cp -R --reflink=auto "$modules/$part" "$home/.cache/deno/"; fi
      done
      chown -R "$user:" "$home"
      as=(setpriv "--reuid=$user" "--regid=$user" --init-groups)
      variables=(HOME="$home" USER="$user" LOGNAME="$user")
      variables+=(PATH="$home/.local/bin:/usr/local/bin:/usr/bin:/bin")
      if unshare --net true 2>/dev/null && command -v ip >/dev/null; then
        as=(unshare --net sh "$scratch/without_ipv6.sh" "$(command -v ip)" "${as[@]}")
      else
        echo "user: no network of its own can be made here, so IPv6 stays on"
      fi
      ;;
    umlaut)
      new_directory /var/tmp
      checkout="$fresh/a blank and an ü/svc"
      mkdir -p "${checkout%/svc}" "$fresh/home" "$fresh/tmp"
      variables+=(HOME="$fresh/home" TMPDIR="$fresh/tmp")
      ;;
    var-tmp)
      new_directory /var/tmp
      checkout=$fresh/svc
      mkdir "$fresh/home"
      variables+=(HOME="$fresh/home")
      ;;
    srv | bare)
      if [ ! -w /srv ]; then
        lacks="a /srv that can be written"
        return
      fi
      new_directory /srv
      checkout=$fresh/svc
      mkdir "$fresh/home" "$fresh/tmp"
      if [ "$1" = srv ]; then
        variables+=(TMPDIR="$fresh/tmp")
      else
        variables=(HOME="$fresh/home" PATH="$node_alone" LANG=C.UTF-8)
        variables+=(npm_config_prefix="$fresh/prefix")
        unset_names+=(DENO_DIR npm_config_cache)
      fi
      ;;
  esac
}

# Runs the test command in the place that was chosen, with a binary or from source.
tests() {
  local bin=$1
  shift
  cd "$checkout"
  timeout --kill-after=10 "${PLACE_SECONDS-3000}" \
    env "${unset_names[@]/#/-u}" "${variables[@]}" SVC_BIN="$bin" ${as[@]+"${as[@]}"} \
    sh install/dev.sh test "$@" </dev/null &
  begun=("$!")
  cd - >/dev/null
  local status=0
  wait "${begun[0]}" || status=$?
  begun=()
  return "$status"
}

# Runs the tests in a place and says how many passed and failed.
run_in() {
  local place=$1 log=$scratch/$1.log count=0 ran=0 status=0
  choose "$place"
  if [ -n "$lacks" ]; then
    printf '%-8s  not run: needs %s\n' "$place" "$lacks"
    echo "0 0" >"$scratch/$place.counts"
    return
  fi
  git clone --quiet --no-hardlinks "$repository" "$checkout"
  local bin=
  if [ -n "$binary" ]; then
    bin=$checkout/dist/svc
    mkdir "$checkout/dist"
    cp --reflink=auto "$binary" "$bin"
  fi
  if [ -z "$whole" ] && [ -d "$app" ]; then cp -R "$app" "$checkout/web/dist"; fi
  if [ ${#as[@]} -gt 0 ]; then chown -R "$user:" "$checkout"; fi
  # The place is where the temporary files are, too.
  variables+=(DENO_TLS_CA_STORE="$store" DENO_JOBS="${DENO_JOBS-3}" NO_COLOR=1 TEST_DISK=yes)
  if [ -n "$whole" ]; then tests "$bin" || status=$?; else
    tests "" "${from_source[@]}" || status=$?
    tests "$bin" "${of_binary[@]}" || status=$?
  fi >"$log" 2>&1
  while read -r line; do
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
      ran=$((ran + BASH_REMATCH[1]))
      count=$((count + BASH_REMATCH[2]))
    fi
  done < <(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" || true)
  if [ "$count" = 0 ] && { [ "$status" != 0 ] || [ "$ran" = 0 ]; }; then count=1; fi
  echo "$ran $count" >"$scratch/$place.counts"
  printf '%-8s  %s passed  %s failed  (%s)\n' "$place" "$ran" "$count" "${about[$place]}"
  sed -n "s/^  flaky /  flaky in $place: /p" "$log"
  if [ "$count" != 0 ]; then
    if grep -q '^Failed: ' "$log"; then
      awk '/^Failed: / { on = 1 } /^Run one again:/ { on = 0 } on && lines++ < 200' "$log"
    else
      tail -n 40 "$log"
    fi
  fi
  # A whole run leaves much behind; the next place may be on the same disk.
  rm -rf "$checkout"
}

# Runs a place in a process of its own, which removes what it has made.
# shellcheck disable=SC2030,SC2031 # that process has its own lists
run_apart() (
  made=()
  begun=()
  trap clean_up EXIT
  trap 'exit 130' TERM
  run_in "$1"
)

# Several at once: most of the time, a place waits for its programs.
at_once=4
if [ -n "$whole" ]; then at_once=2; fi
# shellcheck disable=SC2031
for place in "${places[@]}"; do
  if [ ${#begun[@]} = "$at_once" ]; then
    wait -n || true
    left=()
    for each in "${begun[@]}"; do if kill -0 "$each" 2>/dev/null; then left+=("$each"); fi; done
    begun=(${left[@]+"${left[@]}"})
  fi
  run_apart "$place" >"$scratch/$place.said" 2>&1 &
  begun+=("$!")
done
if [ ${#begun[@]} -gt 0 ]; then wait "${begun[@]}" || true; fi
begun=()

passed=0
failed=0
for place in "${places[@]}"; do
  cat "$scratch/$place.said"
  counts="0 1"
  if [ -f "$scratch/$place.counts" ]; then counts=$(<"$scratch/$place.counts"); fi
  passed=$((passed + ${counts% *}))
  failed=$((failed + ${counts#* }))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
