// RUN: tenon-opt %s --tenon-set-target=fields=avx512=true --tenon-expand-math | FileCheck %s
// RUN: tenon-opt %s --tenon-expand-math | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: call_intrinsic

// The last product of exp2 is one instruction.
// CHECK-LABEL: func @half
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.256"
func.func @half(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp2 %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// So is that of exp, whose rounding to eighths leaves the entry of the table in
// the lowest bits; n has its fraction, which the instruction drops.
// CHECK-LABEL: func @exp
// CHECK:         %[[SHIFT:.*]] = arith.constant dense<0x49C00000> : vector<16xf32>
// CHECK:         %[[SHIFTED:.*]] = math.fma %{{.*}}, %{{.*}}, %[[SHIFT]]
// CHECK:         %[[N:.*]] = arith.subf %[[SHIFTED]], %[[SHIFT]]
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[N]],
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// Scalars and vectors of other lengths have no such instruction.
// CHECK-LABEL: func @declined
// CHECK-NOT:     scalef
// CHECK:         arith.shli
func.func @declined(%x: f32, %y: vector<6xf32>) -> (f32, vector<6xf32>) {
  %0 = math.exp2 %x : f32
  %1 = math.exp2 %y : vector<6xf32>
  return %0, %1 : f32, vector<6xf32>
}
