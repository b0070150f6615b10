#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C of a document is that of a program: check_c_api.py DOCUMENT PROGRAM

Each block of C has to be in the program, whatever the white space."""
import re
import sys

document, program = (open(name, encoding="utf-8").read()
                     for name in sys.argv[1:3])


def packed(text):
    return re.sub(r"\s+", "", text)


blocks = re.findall(r"^```c\n(.*?)^```", document, re.M | re.S)
missing = [b for b in blocks if packed(b) not in packed(program)]
for block in missing:
    print(f"not in {sys.argv[2]}:\n{block}")
print(f"{len(blocks)} blocks, {len(missing)} not in the program")
sys.exit(bool(missing) or not blocks)
