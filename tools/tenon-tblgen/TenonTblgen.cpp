//===- TenonTblgen.cpp - TableGen backend of the operation table ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// mlir-tblgen turns dialects/graph/*.td into the MLIR dialect; this program
// turns the same records into what does not know MLIR.
//
//===----------------------------------------------------------------------===//
#include "OpRecords.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TableGen/Main.h"

using namespace llvm;
using namespace tenon::tblgen;

namespace {
enum class Action { table, docs, cEnum, python };
} // namespace

// A function-local option cannot be seen by the plain function pointer that
// TableGenMain wants, so the parsed value is kept here.
static Action action = Action::table;

static bool emit(raw_ostream &os, const RecordKeeper &records) {
  std::vector<OpRecord> ops = readOps(records);
  switch (action) {
  case Action::table:
    emitTable(os, ops);
    break;
  case Action::docs:
    emitDocs(os, ops);
    break;
  case Action::cEnum:
    emitCEnum(os, ops);
    break;
  case Action::python:
    emitPython(os, ops);
    break;
  }
  return false;
}

int main(int argc, char **argv) {
  cl::opt<Action, true> option(
      cl::desc("what to generate:"), cl::location(action),
      cl::values(
          clEnumValN(Action::table, "gen-table", "OpTable.inc (C++ data)"),
          clEnumValN(Action::docs, "gen-docs", "docs/ops.md"),
          clEnumValN(Action::cEnum, "gen-c-enum", "lines of the C enum"),
          clEnumValN(Action::python, "gen-python", "methods of Python")));
  cl::ParseCommandLineOptions(argc, argv, "Tenon's operation table\n");
  return TableGenMain(argv[0], emit);
}
