//===- Convert.cpp - plain graphs and MLIR modules ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/Convert.h"

#include "dialects/graph/PlainOp.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/support/LinkNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <map>
#include <set>

using namespace mlir;

namespace tenon::graph {

static constexpr StringLiteral kVersionAttr = "graph.version";
static constexpr StringLiteral kEngineAttr = "graph.engine_kind";
static constexpr StringLiteral kFpmathIntAttr = "graph.fpmath_apply_to_int";

static void moveTo(std::vector<Error> &all, std::vector<Error> errors) {
  std::move(errors.begin(), errors.end(), std::back_inserter(all));
}

static Error makeError(ErrorCode code, std::string message,
                       std::string hint = {}) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

//===----------------------------------------------------------------------===//
// Graph to MLIR
//===----------------------------------------------------------------------===//

namespace {
class Exporter {
public:
  Exporter(const Graph &graph, MLIRContext &context)
      : graph(graph), builder(&context) {}

  OwningOpRef<ModuleOp> run();

private:
  TensorType type(uint64_t id) {
    return typeOf(graph.tensor(id), builder.getContext());
  }
  Attribute idAttr(uint64_t id) {
    return builder.getIntegerAttr(builder.getIntegerType(64, false),
                                  APInt(64, id));
  }
  Attribute propertyAttr(uint64_t id) {
    return builder.getStringAttr(name(graph.tensor(id).property));
  }
  DictionaryAttr portAttrs(uint64_t id, bool isInput);
  void addEpilogueMaps(OperationState &state, const Op &op);
  void exportOp(const Op &op);

  const Graph &graph;
  OpBuilder builder;
  /// By id, of which a DenseMap would keep two for itself.
  std::map<uint64_t, Value> values;
};
} // namespace

DictionaryAttr Exporter::portAttrs(uint64_t id, bool isInput) {
  const LogicalTensor &tensor = graph.tensor(id);
  NamedAttrList attrs;
  attrs.append(kIdAttr, idAttr(id));
  if (!tensor.name.empty())
    attrs.append(kNameAttr, builder.getStringAttr(tensor.name));
  if (isInput && tensor.property != PropertyType::undef)
    attrs.append(kPropertyAttr, propertyAttr(id));
  if (isInput && !tensor.sizes.empty())
    attrs.append(kSizesAttr, sizesAttrOf(tensor, builder.getContext()));
  if (isInput && !tensor.shape)
    if (LayoutAttr layout = layoutAttrOf(tensor, builder.getContext()))
      attrs.append(kLayoutAttr, layout);
  return attrs.getDictionary(builder.getContext());
}

/// Ids, and the properties and layouts of results that are not the usual ones.
void Exporter::addEpilogueMaps(OperationState &state, const Op &op) {
  state.addAttribute(kIdAttr, idAttr(op.id));
  SmallVector<int64_t> ids(op.outputs.begin(), op.outputs.end());
  if (!ids.empty())
    state.addAttribute(kResultIdsAttr, builder.getDenseI64ArrayAttr(ids));
  MLIRContext *context = builder.getContext();
  SmallVector<Attribute> properties, layouts, sizes;
  bool anyProperty = false, anyLayout = false, anySize = false;
  for (uint64_t id : op.outputs) {
    const LogicalTensor &tensor = graph.tensor(id);
    anyProperty |= tensor.property != PropertyType::undef;
    properties.push_back(propertyAttr(id));
    anySize |= !tensor.sizes.empty();
    sizes.push_back(sizesAttrOf(tensor, context));
    LayoutAttr layout =
        tensor.shape ? LayoutAttr() : layoutAttrOf(tensor, context);
    anyLayout |= bool(layout);
    layouts.push_back(
        layout ? layout : LayoutAttr::get(context, LayoutKind::strided, {}));
  }
  if (anyProperty)
    state.addAttribute(kResultPropertiesAttr, builder.getArrayAttr(properties));
  if (anySize)
    state.addAttribute(kResultSizesAttr, builder.getArrayAttr(sizes));
  if (anyLayout)
    state.addAttribute(kResultLayoutsAttr, builder.getArrayAttr(layouts));
}

void Exporter::exportOp(const Op &op) {
  OperationState state(
      NameLoc::get(builder.getStringAttr(op.name)),
      (GraphDialect::getDialectNamespace() + "." + op.kind).str());
  for (uint64_t id : op.inputs)
    state.operands.push_back(values.at(id));
  for (uint64_t id : op.outputs)
    state.types.push_back(type(id));
  for (auto &[name, value] : op.attrs)
    state.addAttribute(name, attributeOf(value, builder.getContext()));
  addEpilogueMaps(state, op);
  addSegmentSizes(state, *lookupOp(op.kind), op.absentInputs, op.absentOutputs);
  Operation *created = builder.create(state);
  for (auto [id, result] : llvm::zip(op.outputs, created->getResults()))
    values[id] = result;
}

OwningOpRef<ModuleOp> Exporter::run() {
  Location unknown = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(unknown);
  (*module)->setAttr(kVersionAttr, builder.getStringAttr(graph.version));
  (*module)->setAttr(kEngineAttr, builder.getStringAttr(graph.engineKind));
  (*module)->setAttr(kFpmathAttr, builder.getStringAttr(graph.fpmathMode));
  if (graph.fpmathApplyToInt)
    (*module)->setAttr(kFpmathIntAttr, builder.getBoolAttr(true));

  SmallVector<Type> inputTypes, outputTypes;
  SmallVector<DictionaryAttr> inputAttrs;
  SmallVector<Attribute> outputAttrs;
  for (uint64_t id : graph.inputPorts) {
    inputTypes.push_back(type(id));
    inputAttrs.push_back(portAttrs(id, /*isInput=*/true));
  }
  for (uint64_t id : graph.outputPorts) {
    outputTypes.push_back(type(id));
    outputAttrs.push_back(portAttrs(id, /*isInput=*/false));
  }
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(
      builder, unknown, kMainName,
      builder.getFunctionType(inputTypes, outputTypes), {}, inputAttrs);
  function.setResAttrsAttr(builder.getArrayAttr(outputAttrs));
  if (!graph.sizeFacts.empty())
    function->setAttr(kSizeFactsAttr,
                      sizeFactsAttrOf(graph.sizeFacts, builder.getContext()));
  Block *body = function.addEntryBlock();
  for (auto [id, arg] : llvm::zip(graph.inputPorts, body->getArguments()))
    values[id] = arg;
  builder.setInsertionPointToEnd(body);
  for (const Op &op : graph.ops)
    exportOp(op);
  SmallVector<Value> returned;
  for (uint64_t id : graph.outputPorts)
    returned.push_back(values.at(id));
  func::ReturnOp::create(builder, unknown, returned);
  return module;
}

OwningOpRef<ModuleOp> toMLIR(const PreparedGraph &graph, MLIRContext &context) {
  context.loadDialect<GraphDialect, func::FuncDialect>();
  return Exporter(*graph, context).run();
}

//===----------------------------------------------------------------------===//
// MLIR to graph
//===----------------------------------------------------------------------===//

/// The function of a graph: `main`, with a body of one block.
static Expected<func::FuncOp> mainOf(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>(kMainName);
  if (!function || function.isDeclaration())
    return makeError(ErrorCode::UnsupportedForm,
                     "the module has no function main with a body",
                     "a graph is one function called main");
  if (!function.getBody().hasOneBlock() ||
      !llvm::isa<func::ReturnOp>(function.getBody().front().back()))
    return makeError(ErrorCode::UnsupportedForm,
                     "main is not one block that ends in a return",
                     "a graph has no control flow");
  return function;
}

namespace {
/// Gives out ids: those that were asked for, once each, and fresh ones.
class Ids {
public:
  /// Notes what is taken.  False when someone else has it already.
  bool reserve(uint64_t id) { return used.insert(id).second; }
  uint64_t fresh() {
    while (!used.insert(next).second)
      ++next;
    return next;
  }

private:
  std::set<uint64_t> used;
  uint64_t next = 0;
};

class Importer {
public:
  Importer(ModuleOp module, func::FuncOp function)
      : module(module), function(function) {}

  Expected<Graph> run();

private:
  void readModule();
  void reserveIds();
  void addTensor(Value value);
  void addPort(Value value, StringAttr name, std::vector<uint64_t> &ports);
  void importOp(Operation *op);
  bool isGraphOp(Operation *op);

  ModuleOp module;
  func::FuncOp function;
  Graph graph;
  Ids opIds, tensorIds;
  llvm::DenseMap<Value, uint64_t> ids;
  llvm::DenseMap<Operation *, uint64_t> reservedOps;
  std::vector<Error> errors;
  bool typesFit = true; // all values so far are graph tensors
};
} // namespace

void Importer::readModule() {
  auto read = [&](StringRef name, std::string &to) {
    if (auto text = module->getAttrOfType<StringAttr>(name))
      to = text.getValue().str();
  };
  read(kVersionAttr, graph.version);
  read(kEngineAttr, graph.engineKind);
  read(kFpmathAttr, graph.fpmathMode);
  if (auto flag = module->getAttrOfType<BoolAttr>(kFpmathIntAttr))
    graph.fpmathApplyToInt = flag.getValue();
  if (auto facts = sizeFactsOf(function))
    graph.sizeFacts = std::move(*facts);
  else
    moveTo(errors, facts.errors());
}

/// Ids that are written down go to the first who has them; a pass that clones
/// an operation clones its ids too.
void Importer::reserveIds() {
  auto reserve = [&](Value value) {
    std::optional<uint64_t> id = idOf(value);
    if (id && tensorIds.reserve(*id))
      ids[value] = *id;
  };
  for (Value arg : function.getArguments())
    reserve(arg);
  for (Operation &op : function.getBody().front()) {
    for (Value result : op.getResults())
      reserve(result);
    auto id = op.getAttrOfType<IntegerAttr>(kIdAttr);
    if (id && id.getValue().getActiveBits() <= 64 &&
        opIds.reserve(id.getValue().getZExtValue()))
      reservedOps[&op] = id.getValue().getZExtValue();
  }
}

void Importer::addTensor(Value value) {
  if (!isGraphTensor(value.getType())) {
    typesFit = false;
    std::string text;
    llvm::raw_string_ostream(text) << value.getType();
    errors.push_back(
        makeError(ErrorCode::WrongType, "a value of main has type " + text,
                  "graphs work on tensors of f32, bf16, si8, ..."));
    return;
  }
  auto [it, isNew] = ids.try_emplace(value, 0);
  if (isNew)
    it->second = tensorIds.fresh();
  LogicalTensor tensor = describe(value);
  tensor.id = it->second;
  graph.tensors[tensor.id] = std::move(tensor);
}

bool Importer::isGraphOp(Operation *op) {
  if (llvm::isa<GraphOpInterface>(op))
    return true;
  errors.push_back(
      makeError(ErrorCode::UnknownOp,
                "main contains '" + op->getName().getStringRef().str() + "'",
                "only operations of the graph dialect are part "
                "of a graph"));
  return false;
}

void Importer::importOp(Operation *op) {
  for (Value result : op->getResults())
    addTensor(result);
  if (!isGraphOp(op) || !typesFit)
    return;
  PlainOp plain = plainOf(op);
  auto reserved = reservedOps.find(op);
  plain.op.id =
      reserved == reservedOps.end() ? opIds.fresh() : reserved->second;
  if (plain.op.name.empty() && !llvm::isa<NameLoc>(op->getLoc()))
    plain.op.name = plain.op.kind + "_" + std::to_string(plain.op.id);
  for (auto [id, operand] : llvm::zip(plain.op.inputs, op->getOperands()))
    id = ids.lookup(operand);
  for (auto [id, result] : llvm::zip(plain.op.outputs, op->getResults()))
    id = ids.lookup(result);
  moveTo(errors, verifyOp(plain.op, plain.inputs, plain.outputs));
  graph.ops.push_back(std::move(plain.op));
}

void Importer::addPort(Value value, StringAttr name,
                       std::vector<uint64_t> &ports) {
  uint64_t id = ids.lookup(value);
  ports.push_back(id);
  auto tensor = graph.tensors.find(id);
  if (name && tensor != graph.tensors.end())
    tensor->second.name = name.str();
}

Expected<Graph> Importer::run() {
  readModule();
  reserveIds();
  for (BlockArgument arg : function.getArguments()) {
    addTensor(arg);
    addPort(
        arg,
        function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), kNameAttr),
        graph.inputPorts);
  }
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator())
    importOp(&op);
  for (OpOperand &use : body.getTerminator()->getOpOperands())
    addPort(use.get(),
            function.getResultAttrOfType<StringAttr>(use.getOperandNumber(),
                                                     kNameAttr),
            graph.outputPorts);
  if (!errors.empty())
    return errors;
  return std::move(graph);
}

Expected<Graph> fromMLIR(ModuleOp module) {
  Expected<func::FuncOp> function = mainOf(module);
  if (!function)
    return function.errors();
  return Importer(module, *function).run();
}

} // namespace tenon::graph
