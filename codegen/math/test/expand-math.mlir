// RUN: tenon-opt %s --tenon-expand-math | FileCheck %s

// CHECK-LABEL: func @exp
// CHECK-NOT:     math.exp
// CHECK:         math.fma {{.*}} vector<8xf32>
func.func @exp(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// CHECK-LABEL: func @scalar_tanh
// CHECK-NOT:     math.tanh
// CHECK:         arith.divf {{.*}} : f32
func.func @scalar_tanh(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  return %0 : f32
}

// CHECK-LABEL: func @bf16
// CHECK-NOT:     arith.truncf
// CHECK:         arith.trunci
// CHECK-NOT:     arith.extf
// CHECK:         arith.extui
func.func @bf16(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  %1 = arith.extf %0 : vector<8xbf16> to vector<8xf32>
  return %1 : vector<8xf32>
}

// Doubles, half floats and instructions stay.
// CHECK-LABEL: func @declined
// CHECK:         math.exp {{.*}} f64
// CHECK:         arith.truncf {{.*}} f32 to f16
// CHECK:         math.sqrt {{.*}} f32
func.func @declined(%x: f64, %y: f32) -> (f64, f16, f32) {
  %0 = math.exp %x : f64
  %1 = arith.truncf %y : f32 to f16
  %2 = math.sqrt %y : f32
  return %0, %1, %2 : f64, f16, f32
}

// Rounding and conversion are one instruction, of vectors and of scalars.
// CHECK-LABEL: func @rounded_integers
// CHECK:         llvm.call_intrinsic "llvm.lrint"(%{{.*}}) : (vector<8xf32>) -> vector<8xi32>
// CHECK:         llvm.call_intrinsic "llvm.lrint"(%{{.*}}) : (f32) -> i32
func.func @rounded_integers(%x: vector<8xf32>, %y: f32) -> (vector<8xi32>, i32) {
  %0 = math.roundeven %x : vector<8xf32>
  %1 = arith.fptosi %0 : vector<8xf32> to vector<8xi32>
  %2 = math.roundeven %y : f32
  %3 = arith.fptosi %2 : f32 to i32
  return %1, %3 : vector<8xi32>, i32
}

// What is cut off, and other widths, have no such instruction.
// CHECK-LABEL: func @other_integers
// CHECK-NOT:     llvm.lrint
func.func @other_integers(%x: f32, %y: f64) -> (i32, i64, i32) {
  %0 = arith.fptosi %x : f32 to i32
  %1 = math.roundeven %x : f32
  %2 = arith.fptosi %1 : f32 to i64
  %3 = math.roundeven %y : f64
  %4 = arith.fptosi %3 : f64 to i32
  return %0, %2, %4 : i32, i64, i32
}
