#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy-22, with the checks of .clang-tidy, on the files of a change.
#
#   tests/check_tidy.sh [--most=N] [--base=COMMIT] [FILE]...
#
# Without files: the C and C++ sources that differ from COMMIT, by default where
# this branch left origin/main, or the parent of HEAD on that branch itself. A
# changed header stands for the source of its name. A dozen files take a minute on
# two cores, so only the N with the most changed lines are read (30, or all with
# --most=0). Generated headers are read from bazel-out: build first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

most=30
base=""
files=()
for argument in "$@"; do
  case $argument in
    --most=*) most=${argument#*=} ;;
    --base=*) base=${argument#*=} ;;
    *) files+=("$argument") ;;
  esac
done

# The commit to compare with; nothing when there is none.
find_base() {
  local fork
  fork=$(git merge-base HEAD origin/main 2>/dev/null) || fork=""
  if [[ -z $fork || $fork == "$(git rev-parse HEAD)" ]]; then
    fork=$(git rev-parse --verify --quiet HEAD~1) || fork=""
  fi
  echo "$fork"
}

# Sources of the change, those with the most changed lines first. Some include
# headers that `tenon compile` writes: they cannot be read alone.
changed_sources() {
  local lines path
  git diff --numstat --no-renames --diff-filter=d "$base" -- '*.c' '*.cpp' '*.h' \
    ':!tests/aot/*.c' ':!tests/models/*.c' ':!examples/onnx_c/*.c' |
    while read -r lines _ path; do
      if [[ $path == *.h ]]; then path=${path%.h}.cpp; fi
      if [[ -f $path ]]; then echo "$lines $path"; fi
    done | sort -k1,1nr -k2 | awk '!seen[$2]++ { print $2 }'
}

if ((${#files[@]} == 0)); then
  if ! git rev-parse --git-dir >/dev/null 2>&1; then
    echo "tidy: skipped, this is no checkout of git"
    exit 0
  fi
  base=${base:-$(find_base)}
  if [[ -z $base ]]; then
    echo "tidy: skipped, there is no commit to compare with"
    exit 0
  fi
  mapfile -t files < <(changed_sources)
  if ((${#files[@]} == 0)); then
    echo "tidy: no C or C++ source differs from ${base:0:12}"
    exit 0
  fi
  if ((most > 0 && ${#files[@]} > most)); then
    shown=10
    echo "tidy: reads the $most most changed of ${#files[@]} files;" \
      "--most=0 reads all. Left out are ${files[*]:most:shown}" \
      "$( ((${#files[@]} <= most + shown)) || echo "and others")"
    files=("${files[@]:0:most}")
  fi
fi

# Asserts tell the analyser what cannot be. Warnings of headers come with each
# source: once is enough.
report=$(mktemp)
trap 'rm -f "$report"' EXIT
if ! python3 tools/compdb.py >"$report" 2>&1; then
  cat "$report" >&2
  exit 1
fi
failed=0
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-22 -p . --quiet \
    --extra-arg=-UNDEBUG --warnings-as-errors='*' >"$report" 2>&1 || failed=1
if ((failed)); then
  awk '/ (error|warning): / { show = !seen[$0]++ } show' "$report" |
    grep -vE '^[0-9]+ warnings? (treated|generated)|^Suppressed|^Use -header' ||
    cat "$report" # no finding: it could not run
  echo "tests/check_tidy.sh: see above, and .clang-tidy for what is checked" >&2
  exit 1
fi
echo "tidy: ${#files[@]} files"
