#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the list of flags in cli.md anew, from `tenon COMMAND --help`.
#
#   docs/gen_cli.sh [TENON]      writes docs/cli.md
#   docs/gen_cli.sh --check TENON CLI.MD    says whether it is up to date
set -euo pipefail
check=false
if [[ ${1:-} == --check ]]; then
  check=true
  shift
fi
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
tenon=${1:-$top/tenon}
document=${2:-$top/docs/cli.md}
new=$(mktemp)
trap 'rm -f "$new"' EXIT
# Variables of the caller must not become defaults.
for name in ${!TENON_*}; do unset "$name"; done

skip=""
while IFS= read -r line; do
  if [[ $line == '<!-- end -->' ]]; then skip=""; fi
  [[ -n $skip ]] || printf '%s\n' "$line"
  if [[ $line =~ ^'<!-- help '([a-z]+)' -->'$ ]]; then
    printf '```text\n'
    "$tenon" "${BASH_REMATCH[1]}" --help </dev/null | sed 's/[[:space:]]*$//'
    printf '```\n'
    skip=yes
  fi
done <"$document" >"$new"

if $check; then
  diff "$document" "$new" && exit 0
  echo "docs/cli.md is out of date: run docs/gen_cli.sh" >&2
  exit 1
fi
cat "$new" >"$document"
