//===- TileRecurrentOps.td - recurrences before buffers -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_DIALECTS_TILE_TILERECURRENTOPS_TD
#define TENON_DIALECTS_TILE_TILERECURRENTOPS_TD

include "dialects/tile/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Recurrences
//===----------------------------------------------------------------------===//

def Tile_StepOperandAttr : AttrDef<Tile_Dialect, "StepOperand"> {
  let mnemonic = "step_operand";
  let summary = "which part of an operand a step of a recurrence reads";
  let description = [{
    Dims of the operand are, in this order: one for each index of `lead`, which
    is fixed; the steps, if `steps`; the batch, if `batch`; columns.
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$lead,
                        "bool":$steps, "bool":$batch);
  let assemblyFormat = [{ `<` (`lead` `=` `[` $lead^ `]` `,`)?
                          `steps` `=` $steps `,` `batch` `=` $batch `>` }];
}

def Tile_StateAttr : AttrDef<Tile_Dialect, "State"> {
  let mnemonic = "state";
  let summary = "what a step of a recurrence knows of the step before";
  let description = [{
    `width` columns of result `result` from column `offset` on, as the step before
    left them. Before the first step it is operand `initial`, which has these
    columns, or zeros if that is -1.
  }];
  let parameters = (ins "int64_t":$result, "int64_t":$offset, "int64_t":$width,
                        "int64_t":$initial);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_ReadKind : I32EnumAttr<"ReadKind", "what an argument of a stage is", [
    I32EnumAttrCase<"operand", 0>,
    I32EnumAttrCase<"state", 1>,
    I32EnumAttrCase<"result", 2>,
    I32EnumAttrCase<"following", 3>,
    I32EnumAttrCase<"step", 4>]> {
  let cppNamespace = "::tenon::tile";
  let genSpecializedAttr = 0;
}

def Tile_ReadAttr : AttrDef<Tile_Dialect, "Read"> {
  let mnemonic = "read";
  let summary = "one argument of a stage of a recurrence";
  let description = [{
    An element for each row of the batch and each unit of the stage, from column
    `offset` on:

    * `operand`: of operand `index`, at this step. If that has one column, it is
      the same for all units; the same for the batch and the steps.
    * `state`: of state `index`.
    * `result`: of result `index`, written by an earlier stage of this step.
    * `following`: of operand `index` at the step that follows; at the last step
      of operand `otherwise`, from column 0 on, or 0 if that is -1.
    * `step`: the number of the step in the operands, an i32.
  }];
  let parameters = (ins EnumParameter<Tile_ReadKind>:$kind,
                        DefaultValuedParameter<"int64_t", "0">:$index,
                        DefaultValuedParameter<"int64_t", "0">:$offset,
                        DefaultValuedParameter<"int64_t", "-1">:$otherwise);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_StageAttr : AttrDef<Tile_Dialect, "Stage"> {
  let mnemonic = "stage";
  let summary = "one part of a step of a recurrence: products, then scalars";
  let description = [{
    For each of `width` units: `products` sums over the columns of a source,
    times the weights `[products, K, width]` of operand `weights`, or as
    tile.pack makes them. The source is state `state`, or, if that is -1, the
    K = `depth` columns of result `source` from column `offset` on, which an
    earlier stage of this step has written. Without weights (-1) there are no products.

    The block of the stage gets the sums, then what `reads` says, and yields what
    it stores: value i goes to result `targets[i]`, from column `columns[i]` on.
  }];
  let parameters = (ins "int64_t":$width,
                        DefaultValuedParameter<"int64_t", "-1">:$weights,
                        DefaultValuedParameter<"int64_t", "0">:$products,
                        DefaultValuedParameter<"int64_t", "-1">:$state,
                        DefaultValuedParameter<"int64_t", "-1">:$source,
                        DefaultValuedParameter<"int64_t", "0">:$offset,
                        DefaultValuedParameter<"int64_t", "0">:$depth,
                        DefaultValuedParameter<"int64_t", "1">:$interleave,
                        OptionalArrayRefParameter<"ReadAttr">:$reads,
                        OptionalArrayRefParameter<"int64_t">:$targets,
                        OptionalArrayRefParameter<"int64_t">:$columns);
  let assemblyFormat = [{ `<` `width` `=` $width
      (`weights` `=` $weights^)? (`products` `=` $products^)?
      (`state` `=` $state^)? (`source` `=` $source^)?
      (`offset` `=` $offset^)? (`depth` `=` $depth^)?
      (`interleave` `=` $interleave^)?
      (`reads` `=` `[` $reads^ `]`)? (`targets` `=` `[` $targets^ `]`)?
      (`columns` `=` `[` $columns^ `]`)? `>` }];
}

def Tile_RecurrenceOp : Tile_Op<"recurrence", [Pure]> {
  let summary = "steps of which each reads what the one before has computed";
  let description = [{
    Runs `stages` for each step, in the order of steps or, with `reverse`, from the
    last one to the first. The number of steps and the batch are dims of the
    operands that have them (`forms`).

    The first results, one for each entry of `rings`, are `[1.., S, N, columns]`
    with S the number of steps if the ring is 0: each step writes its own rows.
    With a ring of 1 or 2 S is that number, and step s writes rows s mod S: 1 for
    what is read at the place where it is written, 2 for what products read. The
    other results, one for each state that `finals` lists, are `[1, 1, N, width]`:
    the state after the last step.

    `lengths` is an operand of s32 whose elements must be from 0 to the number of
    steps; else the execution fails.

    Stages compute in f32. Narrower elements are widened where they are loaded,
    and rounded where they are stored, to bytes saturated as well. Sums are f32,
    those of products of bytes i32; so are operands of s32.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
      TypedArrayAttrBase<Tile_StepOperandAttr, "forms of operands">:$forms,
      DenseI64ArrayAttr:$rings,
      TypedArrayAttrBase<Tile_StateAttr, "states">:$states,
      TypedArrayAttrBase<Tile_StageAttr, "stages">:$stages,
      DenseI64ArrayAttr:$finals, OptionalAttr<I64Attr>:$lengths,
      UnitAttr:$reverse);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let assemblyFormat = [{
    $inputs attr-dict-with-keyword $bodies
    `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    StageAttr getStage(int64_t i) {
      return ::llvm::cast<StageAttr>(getStages()[i]);
    }
    StateAttr getState(int64_t i) {
      return ::llvm::cast<StateAttr>(getStates()[i]);
    }
    StepOperandAttr getForm(int64_t i) {
      return ::llvm::cast<StepOperandAttr>(getForms()[i]);
    }
    /// Whether result `i` has rows of steps: the others are final states.
    bool isSequence(int64_t i) {
      return i < static_cast<int64_t>(getRings().size());
    }
    /// The number of an operand that has steps, and of one that has a batch.
    int64_t operandWithSteps();
    int64_t operandWithBatch();
  }];
}

def Tile_StageYieldOp : Tile_Op<"stage_yield", [
    Pure, Terminator, ParentOneOf<["RecurrenceOp"]>]> {
  let summary = "what a stage of a recurrence stores";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // TENON_DIALECTS_TILE_TILERECURRENTOPS_TD
