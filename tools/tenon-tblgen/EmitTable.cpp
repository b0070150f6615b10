//===- EmitTable.cpp - OpTable.inc and the C enum -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OpRecords.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace tenon::tblgen {

namespace {
/// Writes the arrays that one OpInfo points to, and then the OpInfo.  An empty
/// array is written as `{}` because C++ has no arrays of size zero.
class TableEmitter {
public:
  TableEmitter(raw_ostream &os) : os(os) {}

  void emitArrays(const OpRecord &op);
  void emitInfo(const OpRecord &op);

private:
  std::string quoted(StringRef text) {
    std::string result = "\"";
    raw_string_ostream stream(result);
    printEscapedC(text, stream);
    stream << '"';
    return result;
  }
  /// Splits octal escapes from digits and keeps everything printable as is.
  static void printEscapedC(StringRef text, raw_ostream &stream) {
    for (char c : text) {
      if (c == '"' || c == '\\')
        stream << '\\' << c;
      else if (c == '\n')
        stream << "\\n";
      else
        stream << c;
    }
  }
  template <typename Range, typename Print>
  void array(const Twine &type, const Twine &name, const Range &range,
             Print print) {
    if (range.empty())
      return;
    os << "static constexpr " << type << ' ' << name << "[] = {";
    for (const auto &element : range) {
      print(element);
      os << ", ";
    }
    os << "};\n";
  }
  template <typename Range>
  std::string ref(const Range &range, const Twine &name) {
    return range.empty() ? "{}" : name.str();
  }
  void strings(const Twine &name, ArrayRef<StringRef> range) {
    array("std::string_view", name, range,
          [&](StringRef s) { os << quoted(s); });
  }
  void values(const Twine &name, ArrayRef<ValueRecord> range) {
    array("ValueInfo", name, range, [&](const ValueRecord &v) {
      os << '{' << quoted(v.name) << ", " << quoted(v.typeVar) << ", "
         << (v.optional ? "true" : "false") << ", "
         << (v.variadic ? "true" : "false") << ", Domain::" << v.domain << ", "
         << (v.isShape ? "true" : "false") << '}';
    });
  }

  raw_ostream &os;
};
} // namespace

void TableEmitter::emitArrays(const OpRecord &op) {
  std::string k = ("k" + op.kind).str();
  values(k + "Operands", op.operands);
  values(k + "Results", op.results);
  auto number = [&](int64_t n) { os << n; };
  array("int", k + "OperandCounts", op.operandCounts, number);
  array("int", k + "ResultCounts", op.resultCounts, number);
  for (const TypeVarRecord &var : op.typeVars)
    array("DType", k + "Var" + var.name, var.allowed,
          [&](StringRef s) { os << "DType::" << s; });
  array("TypeVarInfo", k + "TypeVars", op.typeVars,
        [&](const TypeVarRecord &var) {
          os << '{' << quoted(var.name) << ", " << k << "Var" << var.name
             << '}';
        });
  for (const AttrRecord &attr : op.attrs)
    strings(k + "Allowed_" + attr.name, attr.allowed);
  for (const AttrRecord &attr : op.attrs)
    array("float", k + "Samples_" + attr.name, attr.samples,
          [&](StringRef number) { os << number; });
  array("AttrInfo", k + "Attrs", op.attrs, [&](const AttrRecord &attr) {
    os << "\n    {" << quoted(attr.name) << ", AttrType::" << attr.type << ", "
       << (attr.required ? "true" : "false") << ", "
       << (attr.defaultText ? quoted(*attr.defaultText) : "std::nullopt")
       << ", " << ref(attr.allowed, k + "Allowed_" + attr.name) << ", "
       << ref(attr.samples, k + "Samples_" + attr.name) << ", "
       << quoted(attr.doc) << '}';
  });
  strings(k + "Constraints", op.constraints);
  strings(k + "AttrRules", op.attrRules);
  strings(k + "Compiles", op.compiles);
}

void TableEmitter::emitInfo(const OpRecord &op) {
  std::string k = ("k" + op.kind).str();
  auto flag = [](bool value) { return value ? "true" : "false"; };
  os << "    {" << quoted(op.kind) << ", " << quoted(op.cEnum) << ", "
     << op.cEnumValue << ", " << quoted(op.category) << ", "
     << quoted(op.backwardOf) << ",\n     " << quoted(op.summary) << ",\n     "
     << quoted(op.description) << ",\n     " << ref(op.operands, k + "Operands")
     << ", " << ref(op.operandCounts, k + "OperandCounts") << ", "
     << ref(op.results, k + "Results") << ", "
     << ref(op.resultCounts, k + "ResultCounts") << ", "
     << ref(op.attrs, k + "Attrs") << ", " << ref(op.typeVars, k + "TypeVars")
     << ", " << ref(op.constraints, k + "Constraints") << ", "
     << quoted(op.shapeRule) << ", " << quoted(op.typeRule) << ", "
     << ref(op.attrRules, k + "AttrRules") << ", " << quoted(op.grid)
     << ",\n     OpClass::" << op.opClass << ", ReducedDims::" << op.reducedDims
     << ", Rounding::" << op.rounding << ", " << flag(op.commutative) << ", "
     << flag(op.cheap) << ", " << flag(op.transcendental) << ", "
     << flag(op.squares) << ", " << ref(op.compiles, k + "Compiles") << ", "
     << quoted(op.vectorException) << "},\n";
}

void emitTable(raw_ostream &os, const std::vector<OpRecord> &ops) {
  os << "// Generated by tenon-tblgen from dialects/graph/*.td; do not edit.\n";
  TableEmitter emitter(os);
  for (const OpRecord &op : ops)
    emitter.emitArrays(op);
  os << "static constexpr OpInfo kOps[] = {\n";
  for (const OpRecord &op : ops)
    emitter.emitInfo(op);
  os << "};\n";
}

void emitCEnum(raw_ostream &os, const std::vector<OpRecord> &ops) {
  std::vector<const OpRecord *> byValue;
  for (const OpRecord &op : ops)
    byValue.push_back(&op);
  llvm::sort(byValue, [](const OpRecord *a, const OpRecord *b) {
    return a->cEnumValue < b->cEnumValue;
  });
  for (const OpRecord *op : byValue)
    os << op->cEnum << " = " << op->cEnumValue << ",\n";
}

} // namespace tenon::tblgen
