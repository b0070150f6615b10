#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run_lit.sh <lit> <config> <tool>... -- <test file>...
#
# Runs lit once over all test files of a directory, with the tools on PATH.
# Arguments are runfiles paths.
set -euo pipefail
lit=$1 config=$2
shift 2
path=""
while [[ $1 != -- ]]; do
  path="$path${path:+:}$PWD/$(dirname "$1")"
  shift
done
shift
export TENON_TOOL_PATH=$path
# lit looks for its configuration beside the real file behind a link: copy the
# tests out of the runfiles tree.
work=$TEST_TMPDIR/lit
mkdir -p "$work"
cp "$config" "$work/lit.cfg.py"
for file in "$@"; do cp -L "$file" "$work/"; done
exec "$lit" -v --no-progress-bar -j1 "$work"
