#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts the wheel, under its full name, into a folder: `dist` of the repository, or
# the one given.
#
#   bazel run //python:wheel -- [FOLDER]
set -euo pipefail
folder=${1:-dist}
[[ $folder == /* ]] || folder=${BUILD_WORKING_DIRECTORY:-.}/$folder
name=$(PYTHONPATH=python python3 -c 'import make_wheel, zipfile
info = next(n for n in zipfile.ZipFile("python/tenon.whl").namelist()
            if n.endswith(".dist-info/WHEEL"))
print(make_wheel.name_of(info.split(".dist-info")[0].removeprefix("tenon-")))')
mkdir -p "$folder"
install -m 644 python/tenon.whl "$folder/$name"
echo "$folder/$name"
