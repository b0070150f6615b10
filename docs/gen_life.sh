#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the excerpts of life-of-a-graph.md anew, from the IR of a graph.
#
#   docs/gen_life.sh [TENON [MODEL]]
#
# What stands between `<!-- ir PHASE LINES REGEX -->` and `<!-- end -->` becomes
# at most LINES lines of the IR after PHASE, from the first one that REGEX
# matches on (from the start without REGEX). Long lines are cut. The target is
# AVX2, whatever machine this runs on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tenon=${1:-./tenon}
model=${2:-examples/mlp/mlp.json}
document=docs/life-of-a-graph.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

excerpt() {
  local phase=$1 lines=$2 regex=${3:-}
  local file=$work/$phase
  [[ -f $file ]] || "$tenon" inspect "$model" --phase="$phase" \
    --target-cpu=x86-64-v3 >"$file"
  awk -v lines="$lines" -v regex="$regex" '
    !started && (regex == "" || $0 ~ regex) { started = 1 }
    started && shown == lines { print "..."; exit }
    started {
      print (length($0) > 150) ? (substr($0, 1, 146) " ...") : $0
      ++shown
    }
    END { exit !started }' "$file" || {
    echo "gen_life.sh: $phase: no line matches $regex" >&2
    return 1
  }
}

while IFS= read -r line; do
  if [[ $line == '<!-- end -->' ]]; then skip=""; fi
  [[ -n ${skip:-} ]] || printf '%s\n' "$line"
  if [[ $line =~ ^'<!-- ir '([a-z]+)' '([0-9]+)(' '(.*))?' -->'$ ]]; then
    printf '```mlir\n'
    excerpt "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[4]}"
    printf '```\n'
    skip=yes
  fi
done <"$document" >"$work/new"
cat "$work/new" >"$document"
