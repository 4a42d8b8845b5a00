#!/bin/sh
# Installs svc for the steps of a GitHub job, unless it is on PATH.
set -eu

if command -v svc >/dev/null; then exit 0; fi
script=$(mktemp)
curl -fsSL "$SVC_RELEASES/latest/download/install.sh" -o "$script"
sh "$script" ${SVC_VERSION:+--version "$SVC_VERSION"}
rm "$script"
echo "$HOME/.svc/bin" >>"$GITHUB_PATH"
