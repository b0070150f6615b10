#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands that documents show.
#
#   docs_commands_test.sh FILE-OF-THE-TREE TENON INSTALL
#
# A block is run when the line before its ```bash is `<!-- test -->`, each in a
# new folder that looks like the top of the tree, except that ./tenon is the
# binary TENON: Bazel cannot run inside a test. For the same reason INSTALL has
# installed Tenon in $HOME/tenon. A command that fails fails the block.
set -euo pipefail
root=$(dirname "$(readlink -f "$1")")
tenon=$(readlink -f "$2")
blocks=$(mktemp -d)
trap 'rm -rf "$blocks"' EXIT
export HOME=$blocks/home
mkdir -p "$HOME"
"$3" --prefix="$HOME/tenon" >"$blocks/output" 2>&1 || {
  cat "$blocks/output"
  exit 1
}

# Writes block number i of a document to PREFIX.i, with its line in PREFIX.i.at.
extract() {
  awk -v prefix="$2" '
    /^```bash$/ && previous == "<!-- test -->" {
      inside = 1; file = prefix "." ++count
      printf "" >file
      print NR >(file ".at")
      next
    }
    /^```/ { inside = 0 }
    inside { print >file }
    { if ($0 != "") previous = $0 }' "$1"
}

ran=0
failed=0
cd "$root"
for document in README.md CONTRIBUTING.md docs/*.md examples/*.md; do
  [[ -f $document ]] || continue
  prefix=$blocks/$(tr / _ <<<"$document")
  extract "$document" "$prefix"
  for block in "$prefix".*.at; do
    [[ -f $block ]] || continue
    where=$document:$(<"$block")
    folder=$(mktemp -d -p "$blocks")
    find "$root" -mindepth 1 -maxdepth 1 -not -name tenon -not -name '.git' \
      -not -name 'bazel-*' -exec ln -s -t "$folder" {} +
    ln -s "$tenon" "$folder/tenon"
    if (cd "$folder" && timeout 300 bash -euo pipefail "${block%.at}") \
      >"$blocks/output" 2>&1 </dev/null; then
      echo "ok     $where"
    else
      echo "FAILED $where"
      sed 's/^/  | /' "${block%.at}"
      tail -n 30 "$blocks/output" | sed 's/^/  /'
      failed=$((failed + 1))
    fi
    ran=$((ran + 1))
  done
done
echo "$ran blocks, $failed failed"
((ran > 0 && failed == 0))
