//===- Passes.td - the passes between import and machine code -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// By phase, in the order in which compiler/driver/Phases.cpp runs them first; that
// file also says which phase runs a pass again. Passes of codegen are in
// codegen/Passes.td and codegen/microkernel/Passes.td.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_PASSES
#define TENON_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Phase graph
//===----------------------------------------------------------------------===//

def CheckSupported : Pass<"tenon-check-supported", "::mlir::ModuleOp"> {
  let summary = "Reports every operation that does not compile";
  let description = [{
    An operation compiles when the operation table lists its element type and
    the form it is in. All others are named at once, each with a code.
  }];
}

def MaterializeLayouts : Pass<"tenon-materialize-layouts", "::mlir::ModuleOp"> {
  let summary = "Moves layouts from tensor types to the entry's arguments";
  let description = [{
    Below this pass no tensor type has an encoding. Strides of the caller's
    buffers stand in `tile.strides` on arguments and results.
  }];
}

def UnpackInt4 : Pass<"tenon-unpack-int4", "::mlir::ModuleOp"> {
  let summary = "Arguments of s4 and u4 become bytes, unpacked at the entry";
  let description = [{
    Two elements share a byte, the first one low. Arithmetic in f32 takes them
    apart, once for constants. What follows sees elements of s8 and u8. What quantizes to
    s4 or u4 gives these as well; as results of the graph they are packed again.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"unpacked", "arguments", "Arguments unpacked">];
}

def DecomposeRecurrent : Pass<"tenon-decompose-recurrent", "::mlir::ModuleOp"> {
  let summary = "Recurrent operations become products and tile.recurrence";
  let description = [{
    Each layer and direction of a recurrent operation becomes one product over all
    time steps, and one tile.recurrence that adds the part that depends on the state,
    step by step. A gradient becomes a tile.recurrence that goes back over the
    steps, and products over all steps for the gradients of weights.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::tenon::tile::TileDialect"];
  let statistics = [Statistic<"layers", "layers", "Layers decomposed">];
}

def DecomposeGraph : Pass<"tenon-decompose-graph", "::mlir::ModuleOp"> {
  let summary = "Brings graph operations to one normal form";
  let description = [{
    Biases, batch normalisation and affine parameters become Add and Multiply;
    transposed operands and NCX, OIX formats become StaticTranspose; vectors in
    MatMul become matrices; slices and repetitions become views. What follows
    sees one form of each operation.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect",
                           "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"rewritten", "ops", "Operations rewritten">];
}

def RaiseAttention : Pass<"tenon-raise-attention", "::mlir::ModuleOp"> {
  let summary = "MatMul, SoftMax, MatMul become one tile.attention";
  let description = [{
    What stands between the first product and the softmax becomes the score region of
    tile.attention: scale, masks (also those computed from GenIndex) and soft-capping. A
    remark says why a softmax before a product was left alone. Attention of int8 operands
    computes in floats where the target has no dot products of four bytes.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [Statistic<"raised", "attentions", "Attentions raised">];
}

def RaiseAttentionBackward
    : Pass<"tenon-raise-attention-backward", "::mlir::ModuleOp"> {
  let summary = "The five products of a gradient become tile.attention_backward";
  let description = [{
    Weights that are computed again from statistics of the softmax, and the products of
    the gradients with queries, keys and values, become one operation. A remark says why
    an exponential between products was left alone.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [Statistic<"raised", "gradients", "Gradients raised">];
}

def WidenFloats : Pass<"tenon-widen-floats", "::mlir::ModuleOp"> {
  let summary = "Operations without code for bf16 and f16 compute in f32";
  let description = [{
    Elementwise operations, reductions, contractions, copies and views read and write bf16
    and f16 themselves. Every other operation gets casts around it, and a remark names it. A
    product with constant weights gets them as well if the target multiplies only f32, or
    multiplies f32 faster: its kernels would widen each element as often as they read it, or
    wait for the slow instruction.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect"];
  let statistics = [Statistic<"widened", "ops", "Operations widened">];
}

//===----------------------------------------------------------------------===//
// Phase quantize
//===----------------------------------------------------------------------===//

def FormIntegerProducts
    : Pass<"tenon-form-integer-products", "::mlir::ModuleOp"> {
  let summary = "Products of dequantized operands become int8 products";
  let description = [{
    A MatMul or Convolution of two Dequantize operations becomes a tile.matmul or
    tile.conv of their int8 operands: src of u8 or s8 times weights of s8 without a zero
    point. The contribution of the zero point of src is subtracted in s32, and the
    scales multiply the difference. The pass looks through casts to bf16 and through
    views between a Dequantize and the product. A remark says why a product of
    dequantized operands computes in f32.
  }];
  let options = [
    Option<"winograd", "winograd", "std::string", "\"auto\"",
           "as for tenon-pack-weights: a convolution that will use Winograd "
           "stays in f32 if int8 would be multiplied as int16">,
    Option<"fastMath", "fast-math", "bool", "false", "as there">];
  let dependentDialects = ["::tenon::tile::TileDialect",
                           "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"formed", "products", "Int8 products">];
}

def MultiplyIntegers : Pass<"tenon-multiply-integers", "::mlir::ModuleOp"> {
  let summary = "Products of integers, exactly";
  let description = [{
    A MatMul or Convolution of integers becomes a tile.matmul or tile.conv with sums
    of s32: of bytes where the target multiplies those, otherwise of int16, or of s32
    where operands may have more bits. Zero points that are subtracted from bytes before
    a MatMul are taken off its result, where four int8 products are one instruction.
    Depthwise convolutions and those of narrow groups are computed in f32 if their sums
    fit it; an error says so if they do not.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect",
                           "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"multiplied", "products", "Products of integers">];
}

def FormQuantizedMatMuls
    : Pass<"tenon-form-quantized-matmuls", "::mlir::ModuleOp"> {
  let summary = "MatMuls with weights that stay quantized in memory";
  let description = [{
    A MatMul of floats and a Dequantize or DynamicDequantize of constants becomes a
    tile.matmul that reads the weights as integers of 8 or 4 bits and dequantizes them
    in registers. With few rows the product is bound by memory, and f32 weights are four
    or eight times as large. Scales of groups of K are stored among the quantized
    weights; scales of columns multiply the sum. A remark says why weights become f32.

    Some targets sum four int8 products at once. There each element of src becomes three
    int8 slices that share an exponent with their group (tile.to_int8_slices). Three such
    instructions take 3/4 of the time of the f32 products, and no weights are dequantized.
    Two slices are enough for bf16, and where the fpmath mode of the graph lets f32 be
    rounded to bf16, f16 or tf32.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect",
                           "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"formed", "products", "Products with quantized weights">];
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

//===----------------------------------------------------------------------===//
// Phase constants
//===----------------------------------------------------------------------===//

def OutlineConstants : Pass<"tenon-outline-constants", "::mlir::ModuleOp"> {
  let summary = "Moves what depends on constants only into @fold";
  let description = [{
    @fold takes the constant arguments of @main and returns what @main needs of
    them, once, when the constants are known. @main receives its results as
    additional arguments. Running the pass again extends @fold.
  }];
  let statistics = [Statistic<"moved", "ops", "Operations moved to @fold">];
}

//===----------------------------------------------------------------------===//
// Phase layout
//===----------------------------------------------------------------------===//

def AssignLayouts : Pass<"tenon-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "Chooses channels first or last for each operation, by cost";
  let description = [{
    Convolutions compute with channels last. The operations around them are computed with
    channels first or last, whichever costs least for the whole graph: elementwise
    operations, poolings and others with a data_format, Concat, softmax, reductions, and
    reshapes of spatial dimensions. Transposes that meet their inverse vanish, so that a
    chain of convolutions on NCX tensors has none inside. Strides of the caller's buffers
    count as the order that they give. The pass declines where no convolution is near.
  }];
  let options = [Option<"remarks", "remarks", "bool", "false",
                        "say for each moved operation what it costs">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"moved", "ops",
                              "Operations computed in another order">];
}

def PackWeights : Pass<"tenon-pack-weights", "::mlir::ModuleOp"> {
  let summary = "Contractions read their weights in panels";
  let description = [{
    A MatMul becomes a tile.pack of its weights and a tile.matmul, and a Convolution
    likewise. Constant weights are packed once, since their tile.pack moves to @fold. A
    convolution of constant 3x3 taps in f32 becomes tile.winograd where that costs less; a
    remark says why it does not.
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

//===----------------------------------------------------------------------===//
// Phase fuse
//===----------------------------------------------------------------------===//

def MoveBeforeViews : Pass<"tenon-move-before-views", "::mlir::ModuleOp"> {
  let summary = "Elementwise operations come before reshapes and transposes";
  let description = [{
    An elementwise operation may read a tensor through views that nobody else reads. It
    is then computed on the tensor itself, and its result is viewed instead, so that the
    operation can join the contraction or the reduction that makes the tensor. Its other
    operands get the inverse views. The pass declines where an operand has no inverse view,
    where rows of the tensor would no longer be rows for readers of the result, and where
    there is no group to join. Before a tile.pack the move goes the other way.
  }];
  let statistics = [Statistic<"moved", "ops", "Operations moved">];
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

def FormChains : Pass<"tenon-form-chains", "::mlir::ModuleOp"> {
  let summary = "Groups of products and windows share one split of their rows";
  let description = [{
    Two groups become one of kind "chain" if the second alone reads what the first
    makes and the tensor between them would leave L2. A chain is computed one row tile
    (band) at a time. A remark says how a chain is cut and what that saves, or why two
    groups stay apart.
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

def ElideConcat : Pass<"tenon-elide-concat", "::mlir::ModuleOp"> {
  let summary = "Groups write operands of a Concat into its result";
  let description = [{
    The pass names the operands of each Concat that their groups can write directly into
    its result; the tile phase gives the groups that memory, and nothing is copied. An
    operand qualifies if its size is known and its elements are contiguous in the result
    for a cache line or more. The pass declines operands that the caller gave, results of
    the entry, and operands that another Concat already has. It runs after the formation
    of groups.
  }];
  let options = [
    Option<"remarks", "remarks", "bool", "false",
           "say why operands are copied or not">];
  let statistics = [Statistic<"placed", "tensors", "Tensors not copied">];
}

//===----------------------------------------------------------------------===//
// Phase tile
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Phase bufferize
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Phase parallel
//===----------------------------------------------------------------------===//

def OutlineSections : Pass<"tenon-outline-sections", "::mlir::ModuleOp"> {
  let summary = "Makes functions of parallel regions and inlines groups into entries";
  let description = [{
    Each rt.parallel region becomes a function that computes a range of its work items,
    and an rt.section that names the function. The functions of groups, which the fuse
    phase outlined, are inlined into the entries.
  }];
  let dependentDialects = ["::tenon::rt::RtDialect"];
  let statistics = [Statistic<"sections", "sections", "Section functions">];
}

//===----------------------------------------------------------------------===//
// Phase llvm
//===----------------------------------------------------------------------===//

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

def SplitEntries : Pass<"tenon-split-entries", "::mlir::ModuleOp"> {
  let summary = "Cuts long entries into functions of bounded size";
  let description = [{
    After tenon-lower-rt an entry is one block with a few operations for each parallel
    region. The more of them there are, the more time code generation takes for each. An
    entry of more than `max-ops` operations is therefore cut into functions `NAME.p0`,
    `NAME.p1` and so on, of about that many operations each. Addresses and sizes that follow
    from the arguments are computed again where they are read. Other values that a later
    function reads are stored in a frame, memory of the entry.
  }];
  let options = [Option<"maxOps", "max-ops", "int64_t", "512",
                        "operations of one function">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::func::FuncDialect"];
  let statistics = [Statistic<"pieces", "functions", "Functions made">];
}

//===----------------------------------------------------------------------===//
// For tests and work by hand
//===----------------------------------------------------------------------===//

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

#endif
