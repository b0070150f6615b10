#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Joins what mlir-tblgen writes of passes to one document.
#
#   docs/gen_passes.sh FILE..., the first one of passes/, others of codegen/
set -euo pipefail
cat <<'TEXT'
# Passes

Generated from passes/Passes.td, codegen/Passes.td and
codegen/microkernel/Passes.td; do not edit.

`tenon-opt` runs each of these passes alone, by the name given here. The list in
`compiler/driver/Phases.cpp` says which phase runs which pass, and in what order;
[architecture.md](architecture.md#phases) describes the phases, and
[adding-a-pass.md](adding-a-pass.md) how a pass comes to be in this list.
TEXT
first=yes
for file; do
  if [[ $first ]]; then
    printf '\n## From the graph to sections: passes/\n'
  else
    printf '\n## From sections to code: %s\n' "$(sed -E \
      's,^(.*/)?(codegen/.*)[^/]*$,\2,; s,/[^/]*$,/,' <<<"$file")"
  fi
  first=""
  sed -e 1d -e 's/[[:space:]]*$//' "$file" | cat -s
done
