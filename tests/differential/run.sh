#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Judges random graphs: compiled results against the evaluator.
#
#   tests/differential/run.sh [--count N] [--seed S] [--jobs J] [--output DIR]
#                             [--kind OPERATION] [--unknown-sizes] [--no-reduce] [--write]
#
# The graph of a seed is the same everywhere. Failures are reduced and written
# to DIR (here, by default).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$PWD
cd "$root"
bazel build --ui_event_filters=-info //tests/differential:differential >&2
program=$(bazel info --ui_event_filters=-info bazel-bin)/tests/differential/differential
cd "$here"
exec "$program" "$@"
