#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wheel; see --help. The same inputs give the same bytes."""
import argparse
import base64
import hashlib
import os
import re
import zipfile

TAG = "py3-none-manylinux_2_36_x86_64"

METADATA = """Metadata-Version: 2.1
Name: tenon
Version: {version}
Summary: Graph compiler for deep learning on CPUs; a backend of torch.compile
License: Apache-2.0
Requires-Python: >=3.10
Provides-Extra: torch
Requires-Dist: torch>=2.13; extra == "torch"
Description-Content-Type: text/markdown

{readme}"""

WHEEL = f"""Wheel-Version: 1.0
Generator: tenon
Root-Is-Purelib: false
Tag: {TAG}
"""

# torch.compile finds the backend by it.
ENTRY_POINTS = """[torch_dynamo_backends]
tenon = tenon.torch.backend:tenon
"""


def version_of(header):
    numbers = dict(re.findall(r"kVersion(Major|Minor|Patch) = (\d+)", header))
    return "{Major}.{Minor}.{Patch}".format(**numbers)


def name_of(version):
    return f"tenon-{version}-{TAG}.whl"


def read(path, mode="r"):
    with open(path, mode) as file:
        return file.read()


class Wheel:
    """A zip archive that records what it holds."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED,
                                   compresslevel=9)
        self.info = info
        self.record = []

    def add(self, name, data, mode=0o644):
        data = data.encode() if isinstance(data, str) else data
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = mode << 16
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        self.record.append(f"{name},sha256={digest.rstrip(b'=').decode()},"
                           f"{len(data)}")

    def close(self):
        self.record.append(f"{self.info}/RECORD,,")
        self.zip.writestr(zipfile.ZipInfo(f"{self.info}/RECORD",
                                          (2020, 1, 1, 0, 0, 0)),
                          "\n".join(self.record) + "\n")
        self.zip.close()


def main():
    parser = argparse.ArgumentParser()
    for option in ("library", "runtime", "version-header", "readme", "license",
                   "output"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--header", action="append", default=[],
                        help="for programs that use exported code")
    parser.add_argument("sources", nargs="+", help="files of the package")
    args = parser.parse_args()
    version = version_of(read(args.version_header))
    info = f"tenon-{version}.dist-info"
    wheel = Wheel(args.output, info)
    for path in sorted(args.sources):
        # Behind the folder of the package, wherever that is.
        wheel.add("tenon/" + path.rsplit("python/tenon/", 1)[1], read(path, "rb"))
    wheel.add("tenon/libtenon.so.0", read(args.library, "rb"), 0o755)
    wheel.add("tenon/libtenon_rt.so.0", read(args.runtime, "rb"), 0o755)
    for path in args.header:
        wheel.add("tenon/include/" + os.path.basename(path), read(path))
    wheel.add(f"{info}/METADATA", METADATA.format(version=version,
                                                  readme=read(args.readme)))
    wheel.add(f"{info}/WHEEL", WHEEL)
    wheel.add(f"{info}/entry_points.txt", ENTRY_POINTS)
    wheel.add(f"{info}/licenses/LICENSE", read(args.license))
    wheel.close()
    assert os.path.getsize(args.output) < 80e6, "the wheel is over 80 MB"


if __name__ == "__main__":
    main()
