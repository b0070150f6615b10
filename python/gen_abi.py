#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tenon/_abi.py: what the C headers declare, for ctypes.

  gen_abi.py CLANG HEADER... >_abi.py

Clang reads the headers, so the structures, enumerations and functions are those
that a C program sees. Handles and pointers are addresses, except for text.
"""
import json
import os
import re
import subprocess
import sys

HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Tenon's C interface for ctypes. Generated from its headers; do not edit."""
import ctypes as c

'''

SCALARS = {
    "int": "c.c_int", "unsigned int": "c.c_uint", "float": "c.c_float",
    "int32_t": "c.c_int32", "uint32_t": "c.c_uint32", "int64_t": "c.c_int64",
    "uint64_t": "c.c_uint64", "uint8_t": "c.c_uint8", "uint16_t": "c.c_uint16",
    "size_t": "c.c_size_t", "ptrdiff_t": "c.c_ssize_t",
    "void": "None",
    "const char *": "c.c_char_p",
}

LIMITS = {"INT64_MIN": -2**63, "INT64_MAX": 2**63 - 1}


class Abi:
    """The declarations whose names begin with tenon."""

    def __init__(self, nodes):
        self.structs, self.functions, self.numbers = {}, {}, {}
        self.enumerations = {}
        self.types = dict(SCALARS)
        for node in nodes:
            read = getattr(self, "read_" + node["kind"], None)
            # Enumerations without a name are the codes of errors.
            name = node.get("name", "tenon" if node["kind"] == "EnumDecl"
                            else "")
            if read and name.startswith("tenon"):
                read(node)

    def type(self, text):
        """The expression of ctypes for a type of C."""
        text = text.strip()
        if text in self.types:
            return self.types[text]
        array = re.fullmatch(r"(.*)\[(\d+)\]", text)
        if array:
            return f"{self.type(array[1])} * {array[2]}"
        if text.endswith("*") or "(*)" in text:
            return "c.c_void_p"
        plain = re.sub(r"\b(const|struct|enum)\b ?", "", text).strip()
        if plain not in self.types:
            raise SystemExit(f"gen_abi.py: no type of ctypes for {text!r}")
        return self.types[plain]

    def read_EnumDecl(self, node):
        value = -1
        for constant in node.get("inner", []):
            if constant["kind"] != "EnumConstantDecl":
                continue
            given = [i["value"] for i in constant.get("inner", [])
                     if i["kind"] == "ConstantExpr"]
            value = int(given[0]) if given else value + 1
            if constant["name"].startswith(("TENON", "tenon")):
                self.numbers[constant["name"]] = value
        if node.get("name"):
            self.types[node["name"]] = "c.c_int"
            self.enumerations[node["name"]] = [
                i["name"] for i in node["inner"]
                if i["kind"] == "EnumConstantDecl"]

    def read_RecordDecl(self, node):
        if not node.get("completeDefinition"):
            return
        fields = [(f["name"], self.type(f["type"]["qualType"]))
                  for f in node["inner"] if f["kind"] == "FieldDecl"]
        self.structs[node["name"]] = fields
        self.types[node["name"]] = node["name"]

    def read_TypedefDecl(self, node):
        target = node["type"]["qualType"]
        if "(*)" in target:
            self.types[node["name"]] = "c.c_void_p"
        elif not target.startswith(("struct", "enum")):
            self.types[node["name"]] = self.type(target)

    def read_FunctionDecl(self, node):
        result = node["type"]["qualType"].split("(")[0].strip()
        pointed = result.removeprefix("const ").removesuffix(" *")
        if result.endswith("*") and pointed in self.structs:
            result = f"c.POINTER({pointed})"
        else:
            result = self.type(result)
        self.functions[node["name"]] = (result, [
            self.type(p["type"]["qualType"]) for p in node.get("inner", [])
            if p["kind"] == "ParmVarDecl"])

    def read_macros(self, text):
        """Numbers that are macros."""
        for name, value in re.findall(
                r"^#define (TENON_\w+) \(?(-?\w+)\)?$", text, re.M):
            if value in LIMITS or re.fullmatch(r"-?\d+", value):
                self.numbers[name] = LIMITS.get(value) or int(value)

    def write(self, out):
        out.write(HEAD)
        for name, value in self.numbers.items():
            out.write(f"{name} = {value}\n")
        out.write("\n# Names of the numbers of each enumeration.\n"
                  "ENUMERATIONS = {\n")
        for name, members in self.enumerations.items():
            out.write(f'    "{name}": {members},\n')
        out.write("}\n")
        for name, fields in self.structs.items():
            out.write(f"\n\nclass {name}(c.Structure):\n    _fields_ = [\n")
            out.writelines(f'        ("{field}", {kind}),\n'
                           for field, kind in fields)
            out.write("    ]\n")
        out.write("\n\n# Result and arguments of each function.\nFUNCTIONS = {\n")
        for name, (result, arguments) in self.functions.items():
            out.write(f'    "{name}": ({result}, '
                      f'[{", ".join(arguments)}]),\n')
        out.write("}\n")


def main():
    clang, *headers = sys.argv[1:]
    folders = dict.fromkeys(os.path.dirname(h) for h in headers)
    command = [clang, "-x", "c", *["-I" + f for f in folders], "-"]
    source = "".join(f'#include "{os.path.basename(h)}"\n' for h in headers
                     if h.endswith(".h"))

    def run(*options):
        return subprocess.run(command + list(options), check=True, input=source,
                              stdout=subprocess.PIPE, text=True).stdout

    tree = json.loads(run("-fsyntax-only", "-Xclang", "-ast-dump=json"))
    abi = Abi(tree["inner"])
    abi.read_macros(run("-E", "-dM"))
    abi.write(sys.stdout)


if __name__ == "__main__":
    main()
