//===- OpRecords.cpp - reading Graph_Op records ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OpRecords.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/TableGen/Error.h"

#include <algorithm>

using namespace llvm;

namespace tenon::tblgen {

/// `text` without blank first and last lines and without the indentation that
/// all of its lines share.
static std::string dedent(StringRef text) {
  SmallVector<StringRef> lines;
  text.rtrim().split(lines, '\n');
  while (!lines.empty() && lines.front().trim().empty())
    lines.erase(lines.begin());
  size_t indent = StringRef::npos;
  for (StringRef line : lines)
    if (!line.trim().empty())
      indent = std::min(indent, line.find_first_not_of(' '));
  std::string result;
  for (StringRef line : lines) {
    if (!result.empty())
      result += '\n';
    result += line.drop_front(std::min(indent, line.size())).rtrim();
  }
  return result;
}

static StringRef attrType(const Record &base, const Record &op) {
  static constexpr std::pair<StringLiteral, StringLiteral> kTypes[] = {
      {"F32Attr", "f32"},      {"DenseF32ArrayAttr", "f32s"},
      {"SI64Attr", "s64"},     {"DenseI64ArrayAttr", "s64s"},
      {"BoolAttr", "boolean"}, {"StrAttr", "string"},
  };
  for (auto &[name, type] : kTypes)
    if (base.getName() == name)
      return type;
  if (base.isSubClassOf("Graph_OneOf"))
    return "string";
  PrintFatalError(op.getLoc(), "attribute constraint '" + base.getName() +
                                   "' has no place in the operation table");
}

/// The C++ expression of an ODS default as files write it: no quotes.
static std::string defaultText(StringRef cpp) {
  cpp.consume_front("\"");
  cpp.consume_back("\"");
  return cpp.str();
}

static AttrRecord readAttr(StringRef name, const Record *attr, StringRef doc,
                           const Record &op) {
  AttrRecord result;
  result.name = name;
  result.doc = doc;
  result.required = true;
  if (attr->isSubClassOf("OptionalAttr")) {
    result.required = false;
    attr = attr->getValueAsDef("baseAttr");
  } else if (attr->isSubClassOf("DefaultValuedAttr")) {
    result.required = false;
    result.defaultText = defaultText(attr->getValueAsString("defaultValue"));
    attr = attr->getValueAsDef("baseAttr");
  }
  result.type = attrType(*attr, op);
  if (attr->isSubClassOf("Graph_OneOf"))
    result.allowed = attr->getValueAsListOfStrings("values");
  return result;
}

static ValueRecord readValue(StringRef name, const Record *constraint,
                             const Record &op) {
  ValueRecord result;
  result.name = name;
  result.optional = constraint->isSubClassOf("Optional");
  result.variadic = constraint->isSubClassOf("Variadic");
  if (result.optional || result.variadic)
    constraint = constraint->getValueAsDef("baseType");
  if (!constraint->isSubClassOf("Graph_Value"))
    PrintFatalError(op.getLoc(), "'" + name + "' is not a Graph_Value");
  result.typeVar = constraint->getValueAsString("typeVar");
  result.domain = constraint->getValueAsString("domain");
  result.isShape = constraint->getValueAsBit("isShape");
  return result;
}

/// Splits one `ins` or `outs` dag into values and attributes.
static void readDag(const DagInit &dag, const Record &op,
                    std::vector<ValueRecord> &values,
                    std::vector<AttrRecord> &attrs) {
  for (unsigned i = 0, e = dag.getNumArgs(); i != e; ++i) {
    StringRef name = dag.getArgNameStr(i);
    const auto *init = dyn_cast<DefInit>(dag.getArg(i));
    if (!init || name.empty())
      PrintFatalError(op.getLoc(), "arguments need a name and a constraint");
    const Record *constraint = init->getDef();
    StringRef doc;
    if (constraint->isSubClassOf("OpVariable")) {
      doc = constraint->getValueAsString("summary");
      constraint = constraint->getValueAsDef("constraint");
    }
    if (constraint->isSubClassOf("Attr"))
      attrs.push_back(readAttr(name, constraint, doc, op));
    else
      values.push_back(readValue(name, constraint, op));
  }
}

static void checkTypeVars(const OpRecord &op) {
  StringSet<> known;
  for (const TypeVarRecord &var : op.typeVars)
    known.insert(var.name);
  for (const auto *list : {&op.operands, &op.results})
    for (const ValueRecord &value : *list)
      if (!value.typeVar.empty() && !known.contains(value.typeVar))
        PrintFatalError(op.record->getLoc(), "type variable '" + value.typeVar +
                                                 "' of '" + value.name +
                                                 "' is not declared");
}

/// What the table says about the meaning of the operation.
static void readFacts(const Record &record, OpRecord &op) {
  op.shapeRule = record.getValueAsString("shapeRule");
  op.typeRule = record.getValueAsString("typeRule");
  op.attrRules = record.getValueAsListOfStrings("attrRules");
  op.grid = record.getValueAsString("grid");
  op.opClass = record.getValueAsString("opClass");
  op.reducedDims = record.getValueAsString("reducedDims");
  op.rounding = record.getValueAsString("rounding");
  op.commutative = record.getValueAsBit("commutative");
  op.cheap = record.getValueAsBit("cheap");
  op.transcendental = record.getValueAsBit("transcendental");
  op.squares = record.getValueAsBit("squares");
  if (op.opClass.empty())
    PrintFatalError(record.getLoc(), "'" + op.kind + "' has no opClass");
}

static void readSamples(const Record &record, OpRecord &op) {
  for (const Record *samples : record.getValueAsListOfDefs("samples")) {
    StringRef name = samples->getValueAsString("attr");
    auto attr = llvm::find_if(
        op.attrs, [&](const AttrRecord &a) { return a.name == name; });
    if (attr == op.attrs.end() || attr->type != "f32")
      PrintFatalError(record.getLoc(),
                      "'" + name + "' is no attribute of type f32");
    attr->samples = samples->getValueAsListOfStrings("values");
  }
}

static OpRecord readOp(const Record &record) {
  OpRecord op;
  op.record = &record;
  op.kind = record.getValueAsString("opName");
  op.category = record.getValueAsString("category");
  op.backwardOf = record.getValueAsString("backwardOf");
  op.summary = record.getValueAsString("summary");
  op.description = dedent(record.getValueAsString("description"));
  op.cEnum = ("tenon_op_" + record.getValueAsString("cName")).str();
  op.cEnumValue = record.getValueAsInt("cValue");
  op.operandCounts = record.getValueAsListOfInts("operandCounts");
  op.resultCounts = record.getValueAsListOfInts("resultCounts");
  op.constraints = record.getValueAsListOfStrings("constraints");
  readFacts(record, op);
  op.compiles = record.getValueAsListOfStrings("compiles");
  op.vectorException = record.getValueAsString("vectorException");
  for (const Record *var : record.getValueAsListOfDefs("typeVars"))
    op.typeVars.push_back({var->getValueAsString("typeVar"),
                           var->getValueAsListOfStrings("allowed")});
  // What computes in f32 reads and writes narrower floats too.
  if (llvm::is_contained(op.compiles, "f32"))
    for (llvm::StringRef narrow : {"bf16", "f16"})
      if (!llvm::is_contained(op.compiles, narrow) &&
          llvm::any_of(op.typeVars, [&](const auto &var) {
            return llvm::is_contained(var.allowed, narrow);
          }))
        op.compiles.push_back(narrow);
  readDag(*record.getValueAsDag("arguments"), record, op.operands, op.attrs);
  readDag(*record.getValueAsDag("results"), record, op.results, op.attrs);
  readSamples(record, op);
  checkTypeVars(op);
  return op;
}

std::vector<OpRecord> readOps(const RecordKeeper &records) {
  std::vector<OpRecord> ops;
  for (const Record *record : records.getAllDerivedDefinitions("Graph_Op"))
    ops.push_back(readOp(*record));
  std::sort(ops.begin(), ops.end(), [](const OpRecord &a, const OpRecord &b) {
    return a.kind < b.kind;
  });
  return ops;
}

StringRef attrTypeText(StringRef type) {
  if (type == "f32s")
    return "f32[]";
  if (type == "s64s")
    return "s64[]";
  return type == "boolean" ? "bool" : type;
}

} // namespace tenon::tblgen
