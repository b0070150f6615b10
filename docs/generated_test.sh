#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Says whether a document that is checked in is what the build generates.
#
#   docs/generated_test.sh GENERATED CHECKED-IN
set -euo pipefail
diff "$2" "$1" && exit 0
echo "docs/$(basename "$2") is out of date; after the build of //docs/..." >&2
echo "copy it: cp bazel-bin/$1 docs/$(basename "$2")" >&2
exit 1
