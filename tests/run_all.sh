#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything, runs all tests and counts their cases.
#
#   tests/run_all.sh [--sanitizers] [--python] [BAZEL OPTION]...
#
# --sanitizers repeats the tests of what does not need MLIR, and of the C
# interface, with the address and undefined behaviour sanitizers. --python adds
# python/run_tests.sh, which needs packages from PyPI. The last line is `N passed,
# N failed`; the exit code is 0 only when all is built, something ran and nothing
# failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The prebuilt MLIR libraries are not instrumented, and what includes their
# headers takes long to build a second time.
sanitized=(
  //compiler/import/...
  //dialects/graph/infer/...
  //dialects/graph/reference/...
  //dialects/support/...
  //runtime/...
  //tests/fuzz:onnx_mutations_test
  //tests/fuzz:onnx_replay_test
)

# The interface and its users, instrumented before a compiler that is not.
interface=(
  //compiler/api/...
  //compiler/partition/...
)

sanitizers=false
python=false
while [[ ${1:-} == --sanitizers || ${1:-} == --python ]]; do
  [[ $1 == --sanitizers ]] && sanitizers=true || python=true
  shift
done
options=("$@")
[[ -t 2 ]] || options+=(--color=no --curses=no --show_progress_rate_limit=60)

events=$(mktemp -d)
trap 'rm -rf "$events"' EXIT

# bazel_test NAME ARGUMENT...
bazel_test() {
  local name=$1
  shift
  # In case Bazel does not come to write it.
  : >"$events/$name.json"
  echo "=== $name" >&2
  bazel test --keep_going --test_output=errors --test_summary=terse \
    --build_event_json_file="$events/$name.json" "${options[@]}" "$@" \
    </dev/null || true # count_results.py judges.
}

bazel_test all //...
if $sanitizers; then
  bazel_test sanitizers --config=asan --config=ubsan "${sanitized[@]}"
  bazel_test interface --config=asan_api "${interface[@]}"
fi

if $python; then
  echo "=== python" >&2
  : >"$events/python.results.json"
  python/run_tests.sh --results="$events/python.results.json" >&2 ||
    true # count_results.py judges.
fi

python3 tests/count_results.py "$events"/*.json
