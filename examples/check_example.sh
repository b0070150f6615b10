#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs an example's program in an empty folder and compares what it writes with
# the files of the source tree: check_example.sh PROGRAM FILE...
set -eu
program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" "$folder"
for file in "$@"; do
  cmp "$file" "$folder/$(basename "$file")" || {
    echo "$file is not what $program writes; run it again" >&2
    exit 1
  }
done
