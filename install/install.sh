#!/bin/sh
# Installs svc for the current user at ~/.svc/bin/svc. Root is not needed.
#
#   curl -fsSL <address of a release>/install.sh | sh
#   sh install.sh --help
#
# The script verifies the checksum of the download and the Ed25519 signature of the checksums before it
# installs anything. All code is in functions, so an incomplete script does nothing.
set -eu

# Filled in by the release.
public_key='@public-key@'
ssh_key='@ssh-key@'
base_url='@base-url@'

help() {
  cat <<'EOF'
Installs svc, or removes it.

Usage: install.sh [--version <version>] [--prefix <dir>] [--base-url <url>] [--modify-path]
                  [--no-signature] [--dry-run]
       install.sh --uninstall [--purge] [--prefix <dir>] [--dry-run]

  --version <version>   install this version; default: the newest
  --prefix <dir>        install to <dir>/bin/svc; default: ~/.svc
  --base-url <url>      address of the releases; https, or http on 127.0.0.1
  --modify-path         add the directory to PATH in your shell's profile; default: print the line
  --no-signature        skip the signature if neither openssl 3 nor ssh-keygen is installed
  --uninstall           stop the daemon and remove svc; sessions, memory and settings stay
  --purge               with --uninstall: also remove ~/.svc
  --dry-run             show what would be done
EOF
}

say() { printf '%s\n' "$*"; }
warn() { printf 'install.sh: %s\n' "$*" >&2; }
die() {
  warn "$1"
  shift
  for line in "$@"; do printf '            %s\n' "$line" >&2; done
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

parse() {
  prefix='' version='' modify_path='' no_signature='' uninstall='' purge='' dry_run=''
  while [ $# -gt 0 ]; do
    case $1 in
      --version | --prefix | --base-url)
        [ $# -gt 1 ] || { warn "$1 needs a value"; exit 2; }
        case $1 in
          --version) version=${2#v} ;;
          --prefix) prefix=$2 ;;
          --base-url) base_url=${2%/} ;;
        esac
        shift
        ;;
      --modify-path) modify_path=1 ;;
      --no-signature) no_signature=1 ;;
      --uninstall) uninstall=1 ;;
      --purge) purge=1 ;;
      --dry-run) dry_run=1 ;;
      -h | --help) help; exit 0 ;;
      *) warn "unknown argument $1; --help lists the arguments"; exit 2 ;;
    esac
    shift
  done
  if [ -n "$purge" ] && [ -z "$uninstall" ]; then warn '--purge requires --uninstall'; exit 2; fi
}

# Sets the directories: home (data), bin (the program).
places() {
  [ -z "${SUDO_USER-}" ] || die 'svc is installed for a single user' \
    'run this script without sudo'
  home=${SVC_HOME:-${HOME:?HOME is not set}/.svc}
  prefix=${prefix:-$home}
  case $prefix in
    /*) ;;
    *) die "--prefix must be an absolute path, got $prefix" ;;
  esac
  case $prefix in
    *[\'\"\`\$\\:]*) die "a path with quotes, colons, \$ or backslashes cannot be added to PATH: $prefix" ;;
  esac
  bin=$prefix/bin
}

# Sets target, the release's name for this system.
detect() {
  system=$(uname -s)
  machine=$(uname -m)
  if [ "$system" = Darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || :)" = 1 ]; then
    machine=arm64 # This shell runs under Rosetta.
  fi
  case $machine in
    x86_64 | amd64) cpu=x86_64 loader=/lib64/ld-linux-x86-64.so.2 ;;
    aarch64 | arm64) cpu=aarch64 loader=/lib/ld-linux-aarch64.so.1 ;;
    *) die "svc does not support this processor: $machine" ;;
  esac
  case $system in
    Linux)
      [ -e "$loader" ] || die "svc needs glibc: $loader does not exist" \
        'systems with musl (Alpine) or without a standard loader (NixOS) are not supported'
      target=$cpu-unknown-linux-gnu
      ;;
    Darwin) target=$cpu-apple-darwin ;;
    MINGW* | MSYS* | CYGWIN*) die 'on Windows, run install.ps1 in PowerShell' ;;
    *) die "svc does not support this system: $system" ;;
  esac
  asset=svc-$target.tar.gz
}

# Sets from, the address of the release's files.
locate() {
  case $base_url in
    @* | '') die 'this copy of the script has no release address' \
      'use the script from a release, or set --base-url' ;;
    *@*) die "--base-url must not contain credentials: $base_url" ;;
    https://* | http://127.0.0.1[:/]* | http://localhost[:/]* | http://127.0.0.1 | http://localhost) ;;
    *) die "--base-url must be an https address, or http on 127.0.0.1, got $base_url" ;;
  esac
  if [ -n "$version" ]; then from=$base_url/download/v$version; else from=$base_url/latest/download; fi
}

# Sets verifier, the installed program that can check an Ed25519 signature.
choose_verifier() {
  verifier=
  case $public_key in @*) [ -n "$no_signature" ] || die 'this copy of the script has no key' \
    'use the script from a release' ;; esac
  case $(openssl version 2>/dev/null || :) in 'OpenSSL '[3-9]*) verifier=openssl ;; esac
  if [ -z "$verifier" ] && has ssh-keygen; then verifier=ssh-keygen; fi
  [ -n "$verifier" ] || [ -n "$no_signature" ] || die \
    'cannot check the Ed25519 signature: openssl is missing or older than 3, and ssh-keygen is missing' \
    'install openssl 3 or OpenSSH 8.1; or run this again with --no-signature, which checks only the' \
    'SHA-256: it comes from the same server and only proves that the download is complete'
}

# fetch <name>: downloads a file of the release into $tmp.
fetch() {
  if has curl; then
    case $from in https:*) only='=https' ;; *) only='=http,https' ;; esac
    curl --fail --silent --show-error --location --proto "$only" --retry 2 --connect-timeout 20 \
      --output "$tmp/$1" "$from/$1" || die "cannot download $from/$1" 'nothing was changed'
  elif has wget; then
    wget -q -T 20 -O "$tmp/$1" "$from/$1" || die "cannot download $from/$1" 'nothing was changed'
  else
    die 'install curl or wget'
  fi
}

check_signature() {
  case $verifier in
    openssl)
      fetch SHA256SUMS.sig
      printf '%s\n' '-----BEGIN PUBLIC KEY-----' "$public_key" '-----END PUBLIC KEY-----' >"$tmp/key.pem"
      openssl pkeyutl -verify -pubin -inkey "$tmp/key.pem" -rawin -in "$tmp/SHA256SUMS" \
        -sigfile "$tmp/SHA256SUMS.sig" >/dev/null 2>&1 || bad_signature
      ;;
    ssh-keygen)
      fetch SHA256SUMS.sshsig
      printf 'svc %s\n' "$ssh_key" >"$tmp/allowed"
      ssh-keygen -Y verify -f "$tmp/allowed" -I svc -n svc-release -s "$tmp/SHA256SUMS.sshsig" \
        <"$tmp/SHA256SUMS" >/dev/null 2>&1 || bad_signature
      ;;
    *)
      warn 'the signature is NOT checked; only the SHA-256, which comes from the same server'
      return
      ;;
  esac
  say "the signature is valid (checked by $verifier)"
}

bad_signature() {
  die "the signature of $from/SHA256SUMS is not valid for the key of svc's releases ($verifier)" \
    'nothing was changed; find out why before you install it in any other way'
}

sha256() {
  if has sha256sum; then sum=$(sha256sum <"$1")
  elif has shasum; then sum=$(shasum -a 256 <"$1")
  elif has openssl; then sum=$(openssl dgst -sha256 -r <"$1")
  else die 'install sha256sum, shasum or openssl'; fi
  say "${sum%% *}"
}

check_sum() {
  expected=
  while read -r sum name; do
    [ "$name" != "$asset" ] || expected=$sum
  done <"$tmp/SHA256SUMS"
  [ -n "$expected" ] || die "this release has no $asset" "$from/SHA256SUMS lists its files"
  found=$(sha256 "$tmp/$asset") || exit 1
  [ "$found" = "$expected" ] || die "the SHA-256 of $from/$asset is wrong" \
    'nothing was changed; the download is incomplete or was modified; try again'
  say 'the SHA-256 is correct'
}

# Unpacks the program and checks that it runs, before it is installed.
try_program() {
  tar -xzmf "$tmp/$asset" -C "$tmp" svc || die "cannot unpack $asset"
  chmod 755 "$tmp/svc"
  said=$("$tmp/svc" --version) || die "the new svc does not run on this machine" 'nothing was changed'
  say "the new svc runs: $said"
  case $version in
    '') ;;
    *) case $said in "svc $version+"* | "svc $version "*) ;;
      *) die "expected version $version, got $said" 'nothing was changed; the release is faulty' ;; esac ;;
  esac
}

# Both files are in one directory, so at every moment $bin/svc is either the old or the new program.
put_in_place() {
  if [ -e "$bin/svc" ]; then
    ln "$bin/svc" "$tmp/previous" 2>/dev/null || cp "$bin/svc" "$tmp/previous"
    mv -f "$tmp/previous" "$bin/svc.previous"
  fi
  sync "$tmp/svc" 2>/dev/null || sync
  mv -f "$tmp/svc" "$bin/svc"
}

install_it() {
  detect
  locate
  choose_verifier
  if [ -n "$dry_run" ]; then
    say "would download $from/$asset"
    say "would check its signature by ${verifier:-nothing (--no-signature)}"
    say "would install it at $bin/svc"
    [ -z "$modify_path" ] || say "would add $bin to PATH in $(profile)"
    return
  fi
  umask 077
  mkdir -p "$prefix" "$bin"
  tmp=$(mktemp -d "$bin/.update-XXXXXX")
  trap 'rm -rf "$tmp"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  say "downloading $from/$asset"
  fetch SHA256SUMS
  check_signature
  fetch "$asset"
  check_sum
  try_program
  put_in_place
  say "installed svc at $bin/svc"
  if [ -n "$modify_path" ]; then modify_profile; else offer_path; fi
  # A running daemon still uses the old program.
  if "$bin/svc" serve --status >/dev/null 2>&1; then
    say 'a daemon is running; "svc serve restart" switches it to this version, and its sessions continue'
  fi
}

profile() {
  case ${SHELL-} in
    */zsh) say "${ZDOTDIR:-$HOME}/.zshrc" ;;
    */bash) if [ "$(uname -s)" = Darwin ]; then say "$HOME/.bash_profile"; else say "$HOME/.bashrc"; fi ;;
    */fish) say "${XDG_CONFIG_HOME:-$HOME/.config}/fish/conf.d/svc.fish" ;;
    *) say "$HOME/.profile" ;;
  esac
}

path_line() {
  case ${SHELL-} in
    */fish) say "fish_add_path '$bin' # svc" ;;
    *) say "export PATH='$bin':\"\$PATH\" # svc" ;;
  esac
}

offer_path() {
  case :${PATH-}: in
    *":$bin:"*) ;;
    *) say "to add svc to PATH, add this line to $(profile), or run this again with --modify-path:"
      say "  $(path_line)" ;;
  esac
  case ${SHELL-} in
    */zsh | */bash) say "for completions: eval \"\$(svc completions ${SHELL##*/})\"" ;;
    */fish) say 'for completions: svc completions fish > ~/.config/fish/completions/svc.fish' ;;
  esac
}

modify_profile() {
  file=$(profile)
  line=$(path_line)
  if [ -e "$file" ] && grep -qxF "$line" "$file"; then
    say "$file already adds it to PATH"
    return
  fi
  mkdir -p "${file%/*}"
  printf '%s\n' "$line" >>"$file"
  say "added to $file: $line"
}

restore_profile() {
  file=$(profile)
  line=$(path_line)
  if [ ! -e "$file" ] || ! grep -qxF "$line" "$file"; then return; fi
  # Writes into the file instead of replacing it, because it may be a link.
  rest=$(grep -vxF "$line" "$file" || :)
  if [ -n "$rest" ]; then printf '%s\n' "$rest" >"$file"; else : >"$file"; fi
  say "removed the line from $file"
}

stop_daemon() {
  "$bin/svc" serve --uninstall >/dev/null 2>&1 || :
  "$bin/svc" serve --status >/dev/null 2>&1 || return 0
  say 'stopping the daemon; turns get 30 s to reach a safe point'
  "$bin/svc" ctl call daemon.shutdown '{"grace_s": 30}' >/dev/null 2>&1 || :
  tries=0
  while "$bin/svc" serve --status >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || die 'the daemon did not stop' \
      "nothing was removed; $bin/svc serve --status shows its pid"
    sleep 1
  done
}

uninstall_it() {
  if [ -n "$dry_run" ]; then
    say "would stop the daemon and its background unit"
    say "would remove $bin/svc and $bin/svc.previous"
    [ -z "$purge" ] || say "would remove $home and everything in it"
    return
  fi
  if [ -x "$bin/svc" ]; then stop_daemon; else say "$bin/svc does not exist"; fi
  rm -f "$bin/svc" "$bin/svc.previous"
  rm -rf "$bin"/.update-*
  rmdir "$bin" 2>/dev/null || :
  restore_profile
  if [ -n "$purge" ]; then
    case $home in / | "${HOME%/}" | "${HOME%/}/") die "refusing to remove $home: it is not a directory of svc" ;; esac
    rm -rf "$home"
    say "removed $home; journals stay in the .svc directories of the sessions' working directories"
  elif [ -d "$home" ]; then
    say "sessions, memory and settings stay in $home; --uninstall --purge removes them"
  fi
}

main() {
  parse "$@"
  places
  if [ -n "$uninstall" ]; then uninstall_it; else install_it; fi
}

# Runs only if the script is complete. No program reads the script, which may come from standard input.
{ main "$@" </dev/null; }
