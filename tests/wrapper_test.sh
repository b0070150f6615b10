#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the script tenon at the top says, with a stand-in for Bazel.
#
#   wrapper_test.sh TENON-SCRIPT
# Conditions are evaluated later.
# shellcheck disable=SC2016
set -uo pipefail
script=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tree/bazel-bin/tools/tenon"
cp "$script" "$work/tree/tenon"
cd "$work" || exit 1
failures=0

# Up to date when the file `built` exists; a build makes it unless `broken` does.
cat >bin/bazel <<'BAZEL'
#!/bin/bash
top=$(cd .. && pwd)
if [[ $* == *--check_up_to_date* ]]; then
  echo "Loading: 0 packages loaded" >&2
  [[ -e $top/built ]]
  exit
fi
echo build >>"$top/builds"
if [[ -e $top/broken ]]; then
  echo "ERROR: first line" >&2
  echo "second line" >&2
  exit 1
fi
touch "$top/built"
BAZEL
cat >tree/bazel-bin/tools/tenon/tenon <<'TENON'
#!/bin/bash
echo "tenon $*"
exit 3
TENON
chmod +x bin/bazel tree/bazel-bin/tools/tenon/tenon

run() {
  rm -f builds
  PATH=$work/bin:/usr/bin:/bin tree/tenon run x.json >out 2>err </dev/null
}

check() {
  if ! eval "$2"; then
    echo "FAILED: $1: $2"
    sed 's/^/  out: /' out
    sed 's/^/  err: /' err
    failures=$((failures + 1))
  fi
}

run
check "something to build: one line, then the command and its exit code" \
  '[[ $? == 3 && $(<err) == "building tenon ..." &&
      $(<out) == "tenon run x.json" && -e builds ]]'
run
check "nothing to build: only the command" \
  '[[ $? == 3 && ! -s err && $(<out) == "tenon run x.json" && ! -e builds ]]'
rm built
touch broken
run
check "a build that fails: all of its errors, no command" \
  '[[ $? == 1 && ! -s out ]] && grep -q "first line" err &&
   grep -q "second line" err'

((failures == 0)) && echo "tenon: all as it should be"
exit $((failures > 0))
