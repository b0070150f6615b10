#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The runtime is small and needs the C library alone.
#
#   size_test.sh LIBTENON_RT.SO
set -euo pipefail
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1"
size=$(stat -c %s "$stripped")
echo "libtenon_rt.so, stripped: $size bytes"
((size <= 400 * 1024))
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
  case $library in
  libc.so.* | libm.so.* | libpthread.so.* | ld-linux*) ;;
  *)
    echo "it needs $library" >&2
    exit 1
    ;;
  esac
done
if nm -D --undefined-only "$1" | grep -v '@GLIBC' | awk '$1 == "U"' | grep .; then
  echo "it leaves the names above to others" >&2
  exit 1
fi
# Nothing but the C interface is shown.
if nm -D --defined-only "$1" | awk '{print $3}' | grep -v '^tenon_'; then
  echo "it shows the names above" >&2
  exit 1
fi
