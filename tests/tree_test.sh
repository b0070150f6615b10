#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tree has nothing that only works on one machine, and what it calls a
# script is one.
#
#   tree_test.sh FILE-OF-THE-TREE
set -euo pipefail
cd "$(dirname "$(readlink -f "$1")")"
failed=0

list_files() {
  git ls-files -z 2>/dev/null ||
    find . -type f -not -path './.git/*' -not -name user.bazelrc -print0
}

# Absolute paths into somebody's folders. Brackets: not to find this line.
if list_files | xargs -0 grep -nIE \
  '(^|[^A-Za-z0-9_.-])/(w[o]rk|f[a]rm|h[o]me|r[o]ot|m[n]t)/[a-zA-Z]'; then
  echo "tree_test: paths of one machine in the files above"
  failed=1
fi

# Every script says how to run it and may be run.
while IFS= read -r -d '' file; do
  [[ -f $file ]] || continue
  read -r first <"$file" || true
  if [[ $first != '#!'* || ! -x $file ]]; then
    echo "tree_test: $file: no #! line, or not executable"
    failed=1
  fi
done < <(list_files | grep -z '\.sh$')

# Links between documents lead somewhere; what stands in code blocks is none.
# shellcheck disable=SC2016
code_block='/^```/,/^```/d'
while IFS= read -r -d '' file; do
  [[ -f $file ]] || continue
  while read -r target; do
    target=${target%%#*}
    [[ -z $target || $target == *://* ]] && continue
    if [[ ! -e $(dirname "$file")/$target ]]; then
      echo "tree_test: $file: no such file: $target"
      failed=1
    fi
  done < <(sed "$code_block" "$file" | grep -oE '\]\([^)]+\)' |
    sed -E 's/^\]\(//; s/\)$//' || true)
done < <(list_files | grep -z '\.md$')
exit $failed
