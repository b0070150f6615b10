#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the Python package with PyTorch, in a virtual environment of its own.
#
#   python/run_tests.sh [--all] [--real] [--results=FILE]
#
# Builds the wheel, installs it beside the packages of requirements.txt and runs
# the tests and a sample of PyTorch's own list of operators; --all takes the whole
# list, and --real also models with trained weights, which it downloads (170 MB)
# and keeps below ~/.cache/tenon. The environment is kept for the next time: $TENON_VENV, or below
# ~/.cache/tenon. Where it cannot be made, as without a network, the tests are
# skipped with a message. FILE gets the names of what passed and failed, as JSON.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

options=()
results=$(mktemp)
for argument in "$@"; do
  case $argument in
    --all) options+=(--all) ;;
    --real) options+=("--real=${XDG_CACHE_HOME:-$HOME/.cache}/tenon/models") ;;
    --results=*) results=${argument#--results=} ;;
    *)
      echo "run_tests.sh: unknown option $argument" >&2
      exit 1
      ;;
  esac
done

key=$(python3 -V | cat - python/requirements.txt | sha256sum | cut -c1-12)
venv=${TENON_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/tenon/venv-$key}

skip() {
  echo "python: skipped, $*" >&2
  echo '{"passed": [], "failed": [], "skipped": ["python"]}' >"$results"
  exit 0
}

make_environment() {
  local log
  log=$(mktemp)
  rm -rf "$venv"
  python3 -m venv "$venv" >"$log" 2>&1 &&
    timeout 600 "$venv/bin/pip" install -q -r python/requirements.txt \
      >>"$log" 2>&1 && touch "$venv/complete" && return
  skip "packages cannot be installed: $(grep -m 1 -i error "$log" || tail -n 1 "$log")"
}
[[ -e $venv/complete ]] || make_environment

# On a copy: programs may be run by several at once.
dist=$(mktemp -d)
trap 'rm -rf "$dist"' EXIT
bazel run --noshow_progress --ui_event_filters=-info //python:wheel -- "$dist" \
  </dev/null
"$venv/bin/pip" install -q --no-deps --target "$dist/site" "$dist"/*.whl
export PYTHONPATH=$dist/site PYTHONDONTWRITEBYTECODE=1
"$venv/bin/python" python/tests/run.py "${options[@]}" --results="$results"
