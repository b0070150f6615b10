#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Dependencies go one way: who may include whom, by folder.
#
#   layering_test.sh FILE-OF-THE-TREE
#
# The first rule whose folder holds a file applies to it.
set -euo pipefail
cd "$(dirname "$(readlink -f "$1")")"

# FOLDER: folders and files that it may include, its own always. Of passes, a
# folder is a phase (of tile, a kind of group); phases do not include each other,
# but tile has groups, which fuse makes.
rules='
runtime:
dialects: dialects
codegen: codegen dialects runtime
passes/support: passes/Passes.h passes/Passes.h.inc passes/support dialects codegen
passes/ops: passes/Passes.h passes/Passes.h.inc passes/support dialects codegen
passes/graph: passes/Passes.h passes/Passes.h.inc passes/support dialects codegen passes/ops
passes/quantize: passes/Passes.h passes/Passes.h.inc passes/support dialects codegen passes/ops
passes/constants: passes/Passes.h passes/Passes.h.inc passes/support dialects codegen passes/ops
passes/layout: passes/Passes.h passes/Passes.h.inc passes/support dialects codegen passes/ops
passes/fuse: passes/Passes.h passes/Passes.h.inc passes/support dialects codegen passes/ops
passes/bufferize: passes/Passes.h passes/Passes.h.inc passes/support dialects codegen passes/ops
passes/parallel: passes/Passes.h passes/Passes.h.inc passes/support dialects codegen passes/ops
passes/tile/core: passes/support passes/ops dialects codegen passes/tile/core
passes/tile/loops: passes/support passes/ops dialects codegen passes/tile/core
passes/tile/products: passes/support passes/ops dialects codegen passes/tile/core passes/tile/loops
passes/tile/windows: passes/support passes/ops dialects codegen passes/tile/core passes/tile/loops passes/tile/products
passes/tile/convolution: passes/support passes/ops dialects codegen passes/tile/core passes/tile/windows
passes/tile/attention: passes/support passes/ops dialects codegen passes/tile/core passes/tile/products passes/tile/windows
passes/tile/recurrence: passes/support passes/ops dialects codegen passes/tile/core
passes/tile: passes/Passes.h passes/Passes.h.inc passes/support dialects codegen passes/ops passes/fuse
passes: passes dialects codegen
compiler/import: compiler/import dialects
compiler/check: compiler/check dialects
compiler/report: compiler/report dialects
compiler/partition: compiler/partition dialects
compiler/driver: compiler/driver compiler/report compiler/import passes codegen dialects runtime
compiler: compiler passes codegen dialects runtime
tools/tenon-tblgen:
tools/devinfo: dialects codegen runtime
tools: tools compiler passes codegen dialects runtime
examples: examples compiler dialects
benchmarks: benchmarks compiler passes codegen dialects runtime tools
tests: tests compiler passes codegen dialects runtime tools examples
'

# FILE:LINE:INCLUDED of every include with quotes, ours only.
includes() {
  local folders=(runtime dialects codegen passes compiler tools examples
    benchmarks tests)
  local existing=()
  for folder in "${folders[@]}"; do
    if [[ -d $folder ]]; then existing+=("$folder"); fi
  done
  grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' \
    --include='*.h' --include='*.c' --include='*.cpp' --include='*.hpp' \
    --include='*.def' "${existing[@]}" |
    sed -E 's/^([^:]*:[0-9]*):[^"]*"([^"]*)".*/\1:\2/'
}

# Programs of the installed interface have nothing else of ours, but for the
# headers that these examples share.
shared='"examples/(check|translation)\.h"'
bad_programs=$(grep -lE "#include <tenon\.h(pp)?>|$shared" \
  -r examples --include='*.c' --include='*.cpp' |
  xargs grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
  grep -vE "$shared" || true)
if [[ -n $bad_programs ]]; then
  echo "$bad_programs"
  echo "layering_test: programs of the interface include <tenon.h> or" \
    "<tenon.hpp>, and of ours nothing else"
  exit 1
fi

includes | awk -v rules="$rules" '
  BEGIN {
    n = split(rules, lines, "\n")
    for (i = 1; i <= n; i++)
      if (split(lines[i], part, ":") == 2) {
        folder[++count] = part[1]
        allowed[count] = part[1] " " part[2]
      }
  }
  # Whether path lies in the folder, or is that file.
  function inside(path, where) {
    return path == where || index(path, where "/") == 1
  }
  function isOurs(path, i) {
    for (i = 1; i <= count; i++) {
      top = folder[i]; sub("/.*", "", top)
      if (inside(path, top)) return 1
    }
    return 0
  }
  {
    split($0, at, ":")
    file = at[1]; included = at[3]; ++seen
    if (!isOurs(included)) next
    ++ours
    for (i = 1; i <= count && !inside(file, folder[i]); i++);
    m = split(allowed[i], may, " ")
    for (j = 1; j <= m; j++)
      if (inside(included, may[j])) next
    print file ":" at[2] ": " folder[i] "/ must not include " included
    bad++
  }
  END {
    print seen " includes, " ours + 0 " of our own, " bad + 0 " not allowed"
    # A pattern that finds nothing would pass for ever.
    exit bad > 0 || ours == 0
  }'
