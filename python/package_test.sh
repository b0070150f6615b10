#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the package from the wheel, with Debian's Python alone.
set -euo pipefail
python3 -m zipfile -e python/tenon.whl "$TEST_TMPDIR/site"
export PYTHONPATH=$TEST_TMPDIR/site PYTHONDONTWRITEBYTECODE=1
# A copy: the folder of a script comes first where modules are looked for.
cp python/package_test.py "$TEST_TMPDIR"
exec python3 "$TEST_TMPDIR/package_test.py"
