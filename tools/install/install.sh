#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lays out Tenon for programs of others:
#
#   bazel run //:install -- --prefix=DIR
#
# Below DIR, which need not exist: include/, lib/, bin/, lib/cmake/Tenon for
# find_package(Tenon), lib/pkgconfig/tenon.pc. The tree may be moved.
set -euo pipefail

prefix=
for argument in "$@"; do
  case $argument in
    --prefix=*) prefix=${argument#--prefix=} ;;
    *)
      echo "install: unknown argument $argument; there is --prefix=DIR" >&2
      exit 1
      ;;
  esac
done
if [[ -z $prefix ]]; then
  echo "install: say where to: --prefix=DIR" >&2
  exit 1
fi
# `bazel run` starts programs elsewhere than where it was called.
[[ $prefix == /* ]] || prefix=${BUILD_WORKING_DIRECTORY:-$PWD}/$prefix

version=$(sed -nE 's/.*kVersion(Major|Minor|Patch) = ([0-9]+);/\2/p' \
  compiler/driver/Version.h | paste -sd.)
while read -r to from; do
  target=$prefix/$to
  mkdir -p "$(dirname "$target")"
  case $to in
    lib/cmake/* | lib/pkgconfig/*)
      sed "s/@VERSION@/$version/" "$from" >"$target"
      chmod 644 "$target"
      ;;
    lib/*.so.* | bin/*) install -m 755 "$from" "$target" ;;
    *) install -m 644 "$from" "$target" ;;
  esac
  if [[ $to == lib/*.so.* ]]; then
    ln -sfn "$(basename "$to")" "${target%.so.*}.so"
  fi
done <tools/install/manifest
echo "Tenon $version is in $prefix"
