#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What count_results.py makes of build events: count_results_test.sh SCRIPT
set -uo pipefail
script=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# Events of one test target: configured LABEL; result LABEL STATUS LOG.
configured() {
  echo '{"id":{"targetConfigured":{"label":"'"$1"'"}},"configured":{"testSize":"SMALL"}}'
}
completed() {
  echo '{"id":{"targetCompleted":{"label":"'"$1"'"}},"completed":{"success":'"$2"'}}'
}
result() {
  echo '{"id":{"testResult":{"label":"'"$1"'","attempt":1}},"testResult":{"status":"'"$2"'","testActionOutput":[{"name":"test.log","uri":"file://'"$work/$3"'"}]}}'
}
finished() {
  echo '{"id":{"buildFinished":{}},"finished":{"exitCode":{"name":"'"$1"'"}}}'
}

# expect NAME EXIT-CODE LAST-LINE: of the events in ./events.
expect() {
  local out code
  out=$(python3 "$script" events)
  code=$?
  if [[ $code != "$2" || $(tail -n 1 <<<"$out") != "$3" ]]; then
    echo "FAILED: $1: code $code, expected $2, and '$3' of:"
    echo "$out"
    failures=$((failures + 1))
  fi
}

cat >gtest.log <<'LOG'
[==========] Running 4 tests from 2 test suites.
[ RUN      ] A.one
[       OK ] A.one (0 ms)
[ RUN      ] A.two
[  FAILED  ] A.two (1 ms)
[ RUN      ] B/C.three/0
[  FAILED  ] B/C.three/0, where GetParam() = (1, "x") (12 ms)
[ RUN      ] A.four
[  SKIPPED ] A.four (0 ms)
[  FAILED  ] 2 tests, listed below:
[  FAILED  ] A.two
[  FAILED  ] B/C.three/0, where GetParam() = (1, "x")
LOG
cat >died.log <<'LOG'
[==========] Running 2 tests from 1 test suite.
[       OK ] A.one (0 ms)
[ RUN      ] A.two
LOG
cat >lit.log <<'LOG'
PASS: tenon :: a.mlir (1 of 2)
FAIL: tenon :: b.mlir (2 of 2)
LOG
echo fine >plain.log

{ configured //a; completed //a true; result //a PASSED plain.log
  finished SUCCESS; } >events
expect "a plain test" 0 "1 passed, 0 failed"

{ configured //a; completed //a true; result //a FAILED gtest.log
  finished TESTS_FAILED; } >events
expect "cases, listed failures once" 1 "1 passed, 2 failed"

{ configured //a; completed //a true; result //a FAILED died.log
  finished TESTS_FAILED; } >events
expect "death after a passed case" 1 "1 passed, 1 failed"

{ configured //a; completed //a true; result //a FAILED lit.log
  finished TESTS_FAILED; } >events
expect "files of lit" 1 "1 passed, 1 failed"

{ configured //a; completed //a true; result //a TIMEOUT plain.log
  finished TESTS_FAILED; } >events
expect "a plain test that hangs" 1 "0 passed, 1 failed"

{ configured //a; completed //a true; result //a PASSED plain.log
  configured //b; completed //b false; finished BUILD_FAILURE; } >events
expect "a test that does not build" 1 "1 passed, 1 failed"

{ configured //a; completed //a true; result //a PASSED plain.log
  finished PARSING_FAILURE; } >events
expect "what no target tells" 1 "1 passed, 1 failed"

echo '{"passed": ["a", "b"], "failed": ["c"], "skipped": []}' >python.results.json
if [[ $(python3 "$script" python.results.json | tail -n 1) != "2 passed, 1 failed" ]]; then
  echo "FAILED: lists of another program"
  failures=$((failures + 1))
fi
: >python.results.json
if [[ $(python3 "$script" python.results.json | tail -n 1) != "0 passed, 1 failed" ]]; then
  echo "FAILED: another program that did not finish"
  failures=$((failures + 1))
fi

: >events
expect "no events at all" 1 "0 passed, 1 failed"

((failures == 0)) && echo "count_results.py: all as it should be"
exit $((failures > 0))
