#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program with the package from the wheel, and with Debian's Python alone:
# run_alone.sh PROGRAM
set -euo pipefail
python3 -m zipfile -e python/tenon.whl "$TEST_TMPDIR/site"
export PYTHONPATH=$TEST_TMPDIR/site PYTHONDONTWRITEBYTECODE=1
# A copy: the folder of a script comes first where modules are looked for.
cp "$1" "$TEST_TMPDIR"
exec python3 "$TEST_TMPDIR/${1##*/}"
