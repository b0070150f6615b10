//===- OpRecords.h - the operation table as TableGen sees it ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the Graph_Op records of dialects/graph/*.td into plain structs, so
// that no emitter has to know how ODS nests its constraints.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/TableGen/Record.h"

#include <optional>
#include <string>
#include <vector>

namespace tenon::tblgen {

struct AttrRecord {
  llvm::StringRef name;
  llvm::StringRef type; // enumerator of graph::AttrType: "f32", "s64s", ...
  bool required = false;
  std::optional<std::string> defaultText;
  std::vector<llvm::StringRef> allowed;
  std::vector<llvm::StringRef> samples; // numbers of C++
  llvm::StringRef doc;
};

struct ValueRecord {
  llvm::StringRef name;
  llvm::StringRef typeVar; // empty: any element type
  bool optional = false;
  bool variadic = false;
  llvm::StringRef domain; // enumerator of graph::Domain
  bool isShape = false;
};

struct TypeVarRecord {
  llvm::StringRef name;
  std::vector<llvm::StringRef> allowed;
};

struct OpRecord {
  const llvm::Record *record = nullptr;
  llvm::StringRef kind;
  llvm::StringRef category;
  llvm::StringRef backwardOf;
  llvm::StringRef summary;
  std::string description;
  std::string cEnum;
  int64_t cEnumValue = 0;
  std::vector<ValueRecord> operands;
  std::vector<int64_t> operandCounts;
  std::vector<ValueRecord> results;
  std::vector<int64_t> resultCounts;
  std::vector<AttrRecord> attrs;
  std::vector<TypeVarRecord> typeVars;
  std::vector<llvm::StringRef> constraints;
  llvm::StringRef shapeRule;
  llvm::StringRef typeRule;
  std::vector<llvm::StringRef> attrRules;
  llvm::StringRef grid;
  llvm::StringRef opClass;     // enumerator of graph::OpClass
  llvm::StringRef reducedDims; // enumerator of graph::ReducedDims
  llvm::StringRef rounding;    // enumerator of graph::Rounding
  bool commutative = false;
  bool cheap = false;
  bool transcendental = false;
  bool squares = false;
  std::vector<llvm::StringRef> compiles;
  llvm::StringRef vectorException;
};

/// All operations, sorted by kind.  A malformed record ends the program with a
/// message that names its line, as TableGen backends do.
std::vector<OpRecord> readOps(const llvm::RecordKeeper &records);

/// How files and documents write an attribute type: "s64s" is "s64[]".
llvm::StringRef attrTypeText(llvm::StringRef type);

void emitTable(llvm::raw_ostream &os, const std::vector<OpRecord> &ops);
void emitDocs(llvm::raw_ostream &os, const std::vector<OpRecord> &ops);
/// One `name = value,` line per operation, for the enum of the C interface.
void emitCEnum(llvm::raw_ostream &os, const std::vector<OpRecord> &ops);
void emitPython(llvm::raw_ostream &os, const std::vector<OpRecord> &ops);

} // namespace tenon::tblgen
