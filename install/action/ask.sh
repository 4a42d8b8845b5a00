#!/bin/sh
# Asks svc once for action.yml. The variables SVC_* are its inputs.
set -eu

set -- chat "$SVC_DIRECTORY" --prompt - --output json --approve "$SVC_APPROVE" --model "$SVC_MODEL"
if [ -n "$SVC_SCHEMA" ]; then set -- "$@" --schema "$SVC_SCHEMA"; fi
if [ -n "$SVC_MAX_STEPS" ]; then set -- "$@" --max-steps "$SVC_MAX_STEPS"; fi
if [ -n "$SVC_MAX_USD" ]; then set -- "$@" --max-usd "$SVC_MAX_USD"; fi
while IFS= read -r rule; do
  if [ -n "$rule" ]; then set -- "$@" --allow "$rule"; fi
done <<RULES
$SVC_ALLOW
RULES
while IFS= read -r rule; do
  if [ -n "$rule" ]; then set -- "$@" --deny "$rule"; fi
done <<RULES
$SVC_DENY
RULES

code=0
result=$(printf '%s' "$SVC_PROMPT" | svc "$@") || code=$?
# JSON has no line breaks outside of its strings' escapes, so the answer cannot name an output.
printf 'json=%s\n' "$(printf '%s' "$result" | tr -d '\r\n')" >>"$GITHUB_OUTPUT"
printf 'exit-code=%s\n' "$code" >>"$GITHUB_OUTPUT"
if [ "$code" != 0 ]; then
  echo "svc ended with exit code $code" >&2
  if [ "$SVC_FAIL" != false ]; then exit "$code"; fi
fi
