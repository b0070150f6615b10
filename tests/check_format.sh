#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every C and C++ file is as clang-format-22 writes it. With --fix,
# makes it so. Files of third_party/ are not ours to format. Checks also that
# every source names the licence of this repository in its first lines.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=(--dry-run --Werror)
[[ ${1:-} == --fix ]] && mode=(-i)

# Tracked files; all files where this is no checkout.
list_files() {
  git ls-files 2>/dev/null || find . -type f -printf '%P\n'
}

mapfile -t files < <(list_files | grep -E '\.(c|cpp|h|hpp)$' |
  grep -vE '^(third_party|bazel-[^/]*)/' | sort)
# A tracked file may have been deleted and not committed yet.
existing=()
for file in "${files[@]}"; do
  if [[ -f $file ]]; then existing+=("$file"); fi
done
if ! clang-format-22 "${mode[@]}" "${existing[@]}" 2>&1 |
  { grep -E 'error:' || true; } | cut -d: -f1 | sort | uniq -c | awk '
      { print "tests/check_format.sh: " $2 ": " $1 " places"; bad++ }
      END { exit bad > 0 }'; then
  echo "tests/check_format.sh: run it with --fix" >&2
  exit 1
fi

mapfile -t sources < <(list_files |
  grep -E '\.(c|cpp|h|hpp|td|def|py|sh|bzl)$' | grep -vE '^bazel-[^/]*/' |
  while read -r file; do if [[ -f $file ]]; then echo "$file"; fi; done | sort)
if ! awk -v tag='SPDX-License-Identifier: Apache-2.0' '
    FNR == 1 { files[++n] = FILENAME }
    FNR <= 4 && index($0, tag) { tagged[FILENAME] = 1 }
    END {
      for (i = 1; i <= n; ++i)
        if (!(files[i] in tagged) && ++bad <= 10)
          print "tests/check_format.sh: " files[i] ": no line with \"" tag "\""
      if (bad > 10) print "tests/check_format.sh: and " bad - 10 " more"
      exit bad > 0
    }' "${sources[@]}"; then
  exit 1
fi
echo "format: ${#existing[@]} files, ${#sources[@]} with a licence"
