// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{attribute 'tile.group' must be #tile.group, is "contraction"}}
func.func @f() attributes {tile.group = "contraction"} {
  return
}

// -----

// expected-error @+2 {{expected ::tenon::tile::GroupKind to be one of: elementwise}}
// expected-error @+1 {{failed to parse Tile_GroupKindAttr}}
func.func private @f() attributes {tile.group = #tile.group<product>}

// -----

func.func @f(%x: i32) {
  // expected-error @+1 {{attribute 'tile.group' belongs on a function}}
  %0 = arith.addi %x, %x {tile.group = #tile.group<reduction>} : i32
  return
}

// -----

// expected-error @+1 {{there is no attribute 'tile.kind' of operations}}
module attributes {tile.kind = 1} {}

// -----

// expected-error @+1 {{attribute 'tile.role' must be #tile.role, is "input"}}
func.func private @f(memref<4xf32> {tile.role = "input"})

// -----

// expected-error @+1 {{attribute 'tile.strides' must be an array of i64, is 1 : i64}}
func.func private @f() -> (tensor<4xf32> {tile.strides = 1})

// -----

// expected-error @+1 {{there is no attribute 'tile.target' of arguments}}
func.func private @f(i32 {tile.target = #tile.target<>})
