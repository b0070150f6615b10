//===- Passes.td - the passes between import and machine code -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In alphabetical order.  compiler/driver/Phases.cpp says which phase runs
// which.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_PASSES
#define TENON_PASSES

include "mlir/Pass/PassBase.td"

def CheckSupported : Pass<"tenon-check-supported", "::mlir::ModuleOp"> {
  let summary = "Reports every operation that does not compile";
  let description = [{
    An operation compiles when the operation table lists its element type and
    the form it is in. All others are named at once, each with a code.
  }];
}

def DecomposeGraph : Pass<"tenon-decompose-graph", "::mlir::ModuleOp"> {
  let summary = "Brings graph operations to one normal form";
  let description = [{
    Biases, batch normalisation and affine parameters become Add and Multiply;
    transposed operands and NCX, OIX formats become StaticTranspose; vectors in
    MatMul become matrices. What follows sees one form of each operation.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"rewritten", "ops", "Operations rewritten">];
}

def DecomposeRecurrent : Pass<"tenon-decompose-recurrent", "::mlir::ModuleOp"> {
  let summary = "Recurrent cells become products and tile.rnn";
  let description = [{
    For each layer of an LSTM one product over all time steps, with weights in
    panels, and one tile.rnn that adds the part of the state step by step.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect"];
  let statistics = [Statistic<"layers", "layers", "Layers decomposed">];
}

def ExpandQuantize : Pass<"tenon-expand-quantize", "::mlir::ModuleOp"> {
  let summary = "Quantisation becomes arithmetic in f32 and casts";
  let description = [{
    Quantize divides, adds the zero point, rounds and casts; Dequantize casts,
    subtracts and multiplies. Scales and zero points become literals, or views
    of their tensors, that broadcast along the channel dim; the groups of
    per_group are dims of a reshaped operand. What results joins groups as any
    elementwise operation does.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"expanded", "ops", "Operations expanded">];
}

def FormChains : Pass<"tenon-form-chains", "::mlir::ModuleOp"> {
  let summary = "Groups of products and windows share one split of their rows";
  let description = [{
    Where one group alone reads what another makes, and the tensor between them
    would leave L2, both become one of kind "chain", computed a band of rows at
    a time. A remark tells how it is cut and what that saves, or why it is not.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect"];
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "48",
           "largest number of operations in a group">,
    Option<"mode", "mode", "std::string", "\"auto\"",
           "auto (by cost), always (where possible) or never">,
    Option<"remarks", "remarks", "bool", "false",
           "say why groups were chained or not">];
  let statistics = [Statistic<"chains", "chains", "Chains formed">,
                    Statistic<"joined", "groups", "Groups in them">];
}

def FormGroups : Pass<"tenon-form-groups", "::mlir::ModuleOp"> {
  let summary = "Cuts functions into groups, each a function of its own";
  let description = [{
    Walks operations in order; each joins the latest group among its producers
    when dependence and cost allow, else it starts one. Groups are outlined;
    equal ones share one function. The MatMul or attention that reads them packs
    weights that are not constant, and keys, itself; it also fuses cheap
    producers of src, queries and values. Both require that the operand stays in
    the cache. A remark tells why an operation did not join.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect"];
  let options = [
    Option<"enable", "enable", "bool", "true",
           "false: every operation is a group of its own">,
    Option<"maxOps", "max-ops", "int64_t", "48",
           "largest number of operations in a group">,
    Option<"remarks", "remarks", "bool", "false",
           "say why operations did not join a group">];
  let statistics = [Statistic<"groups", "groups", "Groups formed">,
                    Statistic<"shared", "groups", "Groups that reuse a function">,
                    Statistic<"fused", "ops", "Operations that joined a group">];
}

def FormIntegerProducts
    : Pass<"tenon-form-integer-products", "::mlir::ModuleOp"> {
  let summary = "Products of dequantized operands become int8 products";
  let description = [{
    MatMul or Convolution of two Dequantize, u8 or s8 times s8 weights without
    zero point, becomes a tile.matmul or tile.conv of the bytes; what the zero
    point of src adds is subtracted in s32, the scales multiply the difference. Casts to bf16
    and views between Dequantize and the product are passed through. A remark
    tells why a product of dequantised tensors computes in f32.
  }];
  let options = [
    Option<"winograd", "winograd", "std::string", "\"auto\"",
           "as for tenon-pack-weights: where it will choose Winograd "
           "and int8 operands would be multiplied as int16, products are of floats">,
    Option<"fastMath", "fast-math", "bool", "false", "as there">];
  let dependentDialects = ["::tenon::tile::TileDialect",
                           "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"formed", "products", "Int8 products">];
}

def FormQuantizedMatMuls
    : Pass<"tenon-form-quantized-matmuls", "::mlir::ModuleOp"> {
  let summary = "Products with weights that stay quantised in memory";
  let description = [{
    MatMul of floats and a Dequantize or DynamicDequantize of constants becomes a
    tile.matmul that reads the weights as integers of 8 or 4 bits (levels) and
    dequantizes them in registers. With few rows the product is bound by memory,
    and f32 weights are four or eight times as large. Scales of groups of K are
    stored among the levels; scales of columns multiply the sum. A remark tells
    why weights become f32.

    Where the target sums products of four bytes at once, src becomes three bytes
    for each element, which share an exponent with their group
    (tile.to_int8_slices): three such instructions take 3/4 of the time of f32, and
    no weights are made. Of bf16, and where the module's fpmath mode lets f32 be
    rounded to that, f16 or tf32, two bytes are enough.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect",
                           "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"formed", "products", "Products of levels">];
}

def ElideConcat : Pass<"tenon-elide-concat", "::mlir::ModuleOp"> {
  let summary = "Operands of a Concat are computed where it joins them";
  let description = [{
    After the formation of groups. Names the operands of each Concat that their
    groups can write into its result, so that the tile phase gives them that
    memory and nothing is copied: known sizes, rows of a cache line and more,
    elements of the last dimension side by side. Declines what the caller gave,
    results of the entry, and what another Concat has.
  }];
  let options = [
    Option<"remarks", "remarks", "bool", "false",
           "say why operands are copied or not">];
  let statistics = [Statistic<"placed", "tensors", "Tensors not copied">];
}

def LowerRt : Pass<"tenon-lower-rt", "::mlir::ModuleOp"> {
  let summary = "Gives entries and sections the interface of the runtime";
  let description = [{
    An entry becomes `i32 NAME(exec, buffers, dims, arena)`, with a companion
    `i64 NAME_arena(dims)`; a section becomes `void (args, begin, end,
    scratch)`; rt.section becomes a call of the runtime.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::arith::ArithDialect"];
}

def MaterializeLayouts : Pass<"tenon-materialize-layouts", "::mlir::ModuleOp"> {
  let summary = "Moves layouts from tensor types to the entry's arguments";
  let description = [{
    Below this pass no tensor type has an encoding. Strides of the caller's
    buffers stand in `tile.strides` on arguments and results.
  }];
}

def MoveBeforeViews : Pass<"tenon-move-before-views", "::mlir::ModuleOp"> {
  let summary = "Elementwise operations come before reshapes and transposes";
  let description = [{
    What reads one tensor through views that nobody else reads is computed on
    that tensor as it is made, and its result is viewed: so it joins the product
    or the row operation that makes the tensor. Other operands are viewed
    backwards. Declines where an operand has no such view, where rows of the
    tensor would no longer be rows for readers of the result, and where nothing
    could be joined. Before tile.pack it is the other way round.
  }];
  let statistics = [Statistic<"moved", "ops", "Operations moved">];
}

def OutlineConstants : Pass<"tenon-outline-constants", "::mlir::ModuleOp"> {
  let summary = "Moves what depends on constants only into @fold";
  let description = [{
    @fold takes the constant arguments of @main and returns what @main needs of
    them, once, when the constants are known. @main receives its results as
    additional arguments. Running the pass again extends @fold.
  }];
  let statistics = [Statistic<"moved", "ops", "Operations moved to @fold">];
}

def OutlineSections : Pass<"tenon-outline-sections", "::mlir::ModuleOp"> {
  let summary = "Makes functions of sections and inlines groups into entries";
  let dependentDialects = ["::tenon::rt::RtDialect"];
  let statistics = [Statistic<"sections", "sections", "Section functions">];
}

def PackWeights : Pass<"tenon-pack-weights", "::mlir::ModuleOp"> {
  let summary = "Contractions read their weights in panels";
  let description = [{
    MatMul becomes tile.pack of the weights and tile.matmul; Convolution
    likewise. Weights that are constants are packed once, since the pack moves
    to @fold. A convolution of 3x3 constant taps in f32 becomes tile.winograd
    where that costs less; a remark tells why it does not.
  }];
  let options = [
    Option<"winograd", "winograd", "std::string", "\"auto\"",
           "convolutions of 3x3 taps by Winograd: auto (by cost), "
           "always (where possible) or never">,
    Option<"fastMath", "fast-math", "bool", "false",
           "also by F(4x4, 3x3), whose errors are larger">];
  let dependentDialects = ["::tenon::graph::GraphDialect",
                           "::tenon::tile::TileDialect"];
  let statistics = [
    Statistic<"packed", "weights", "Weights packed">,
    Statistic<"filtered", "convolutions", "Convolutions by Winograd">];
}

def PlanArena : Pass<"tenon-plan-arena", "::mlir::ModuleOp"> {
  let summary = "Places the buffers of an entry in one arena";
  let description = [{
    Each memref.alloc of an entry becomes a view of the arena argument. Buffers
    whose lifetimes do not overlap share bytes.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect",
                           "::tenon::tile::TileDialect"];
  let statistics = [
    Statistic<"buffers", "buffers", "Buffers placed">,
    Statistic<"bytesUnshared", "bytes unshared", "Sum of their sizes">,
    Statistic<"bytesArena", "bytes arena", "Size of the arenas">];
}

def RaiseAttention : Pass<"tenon-raise-attention", "::mlir::ModuleOp"> {
  let summary = "MatMul, SoftMax, MatMul become one tile.attention";
  let description = [{
    What stands between the first product and the softmax (scale, masks, also
    those computed from GenIndex, soft-capping) becomes the score region. A
    remark tells why a softmax before a product was left. Attention of bytes
    computes in floats where the target has no dot products of four bytes.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [Statistic<"raised", "attentions", "Attentions raised">];
}

def AssignLayouts : Pass<"tenon-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "Each operation on images with channels first or last, by cost";
  let description = [{
    Convolutions compute with channels last. What reads their results and makes
    their operands is computed with channels first or last as costs least for
    the whole graph: elementwise operations, pools and what else has a
    data_format, Concat, softmax, reductions, reshapes of space. Transposes
    that meet their inverse vanish: a chain of convolutions on NCX tensors has
    none inside. Strides of the caller's buffers count as the order they give.
    Declines where no convolution is near.
  }];
  let options = [Option<"remarks", "remarks", "bool", "false",
                        "Say for each moved operation what it costs">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"moved", "ops",
                              "Operations computed in another order">];
}

def SetTarget : Pass<"tenon-set-target", "::mlir::ModuleOp"> {
  let summary = "Puts a target on the module";
  let description = [{
    For tests and for work by hand: the driver does so when it makes the module.
    `fields` are parameters of `#tile.target`, without spaces, such as
    `fields=vector_bits=512,num_vector_registers=32`; those that are not named
    have their defaults.
  }];
  let options = [Option<"fields", "fields", "std::string", "\"\"",
                        "parameters of the target, separated by commas">];
  let dependentDialects = ["::tenon::tile::TileDialect"];
}

def SplitEntries : Pass<"tenon-split-entries", "::mlir::ModuleOp"> {
  let summary = "Cuts long entries into functions of bounded size";
  let description = [{
    After tenon-lower-rt an entry is one block with a few operations for each
    section. Code generation takes more time for each of them the more there
    are. An entry of more than `max-ops` operations becomes calls of functions
    `NAME.p0`, `NAME.p1` ... of about that many. Addresses and sizes that follow
    from the arguments are computed where they are read; other values that a
    later function reads are stored in a frame, memory of the entry.
  }];
  let options = [Option<"maxOps", "max-ops", "int64_t", "512",
                        "operations of one function">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::func::FuncDialect"];
  let statistics = [Statistic<"pieces", "functions", "Functions made">];
}

def TileGroups : Pass<"tenon-tile-groups", "::mlir::ModuleOp"> {
  let summary = "Lowers groups to sections of loops on buffers";
  let description = [{
    Entries become functions on memrefs that call group functions in
    destination-passing style; a group's work stands in rt.parallel regions as
    linalg.generic and tile.brgemm. Groups are specialised for the layouts of
    their operands; equal ones stay one function.
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::math::MathDialect",
    "::tenon::tile::TileDialect", "::tenon::rt::RtDialect"];
  let statistics = [Statistic<"functions", "groups", "Group functions">];
}

def UnpackInt4 : Pass<"tenon-unpack-int4", "::mlir::ModuleOp"> {
  let summary = "Arguments of s4 and u4 become bytes, unpacked at the entry";
  let description = [{
    Two elements share a byte, the first one low. Arithmetic in f32 takes them
    apart, once for constants. What follows sees elements of s8 and u8.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"unpacked", "arguments", "Arguments unpacked">];
}

def WidenFloats : Pass<"tenon-widen-floats", "::mlir::ModuleOp"> {
  let summary = "Operations without code for bf16 and f16 compute in f32";
  let description = [{
    Elementwise operations, rows, products, copies and views read and write
    narrow floats themselves. Each other operation gets casts around it; a
    remark names it. So does a product with constant weights where the target
    multiplies f32 only, or faster: kernels would widen each element as often as
    they read it, or wait for the slow instruction.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect"];
  let statistics = [Statistic<"widened", "ops", "Operations widened">];
}

#endif
