#!/bin/bash
# docs_test.sh <generated> <checked in>
diff "$2" "$1" && exit 0
echo "docs/ops.md is out of date: copy bazel-bin/dialects/graph/ops.md to it"
exit 1
