// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=avx2=true --tenon-expand-math | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=avx512=true --tenon-expand-math | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: tenon-opt %s --split-input-file --tenon-expand-math | FileCheck %s --check-prefix=PLAIN

// One entry of a table in a register, three products and sums less.
// PLAIN-LABEL: func @exp
// PLAIN-COUNT-8: math.fma
// PLAIN-NOT:     call_intrinsic
// CHECK-LABEL: func @exp
// CHECK-COUNT-6: math.fma
// CHECK:         llvm.call_intrinsic "llvm.x86.avx2.permps"
// CHECK:         math.fma
// CHECK-NOT:     math.fma
// CHECK:         return
func.func @exp(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x fastmath<afn,ninf> : vector<8xf32>
  return %0 : vector<8xf32>
}

// -----

// Of a difference, ln 2 is one number; where only few bits of the result stay,
// the polynomial is shorter, too. Not where others use it.
// CHECK-LABEL: func @difference
// CHECK-COUNT-5: math.fma
// CHECK:         permps
// CHECK:         math.fma
// CHECK-NOT:     math.fma
// CHECK-LABEL: func @narrowed
// CHECK-COUNT-4: math.fma
// CHECK:         permps
// CHECK:         math.fma
// CHECK-NOT:     math.fma
// CHECK-LABEL: func @stored
// CHECK-COUNT-5: math.fma
// CHECK:         permps
func.func @difference(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x fastmath<afn,ninf,reassoc> : vector<8xf32>
  return %0 : vector<8xf32>
}
func.func @narrowed(%x: vector<8xf32>, %sum: vector<8xf32>) -> (vector<8xf16>, vector<8xf32>) {
  %0 = math.exp %x fastmath<afn,ninf,reassoc> : vector<8xf32>
  %1 = arith.addf %sum, %0 : vector<8xf32>
  %2 = arith.truncf %0 : vector<8xf32> to vector<8xf16>
  return %2, %1 : vector<8xf16>, vector<8xf32>
}
func.func @stored(%x: vector<8xf32>) -> (vector<8xf16>, vector<8xf32>) {
  %0 = math.exp %x fastmath<afn,ninf,reassoc> : vector<8xf32>
  %2 = arith.truncf %0 : vector<8xf32> to vector<8xf16>
  return %2, %0 : vector<8xf16>, vector<8xf32>
}

// -----

// A lower limit from which exponentials are normal needs none for 0; a lower
// one, and one of something else, do.
// CHECK-LABEL: func @limited
// CHECK:         permps
// CHECK-NOT:     arith.select
// CHECK:         return
// CHECK-LABEL: func @far
// CHECK:         permps
// CHECK:         arith.select
// CHECK-LABEL: func @unlike
// CHECK:         permps
// CHECK:         arith.select
func.func @limited(%x: vector<8xf32>) -> vector<8xf32> {
  %c = arith.constant dense<-40.0> : vector<8xf32>
  %below = arith.cmpf olt, %x, %c : vector<8xf32>
  %y = arith.select %below, %c, %x : vector<8xi1>, vector<8xf32>
  %0 = math.exp %y fastmath<afn,ninf> : vector<8xf32>
  return %0 : vector<8xf32>
}
func.func @far(%x: vector<8xf32>) -> vector<8xf32> {
  %c = arith.constant dense<-90.0> : vector<8xf32>
  %below = arith.cmpf olt, %x, %c : vector<8xf32>
  %y = arith.select %below, %c, %x : vector<8xi1>, vector<8xf32>
  %0 = math.exp %y fastmath<afn,ninf> : vector<8xf32>
  return %0 : vector<8xf32>
}
func.func @unlike(%x: vector<8xf32>, %z: vector<8xf32>) -> vector<8xf32> {
  %c = arith.constant dense<-40.0> : vector<8xf32>
  %below = arith.cmpf olt, %z, %c : vector<8xf32>
  %y = arith.select %below, %c, %x : vector<8xi1>, vector<8xf32>
  %0 = math.exp %y fastmath<afn,ninf> : vector<8xf32>
  return %0 : vector<8xf32>
}

// -----

// What the product lost joins the rest.
// CHECK-LABEL: func @exp_of_product
// CHECK:         %[[P:.*]] = arith.mulf %[[X:.*]], %[[X]]
// CHECK:         %[[N:.*]] = arith.negf %[[P]]
// CHECK:         %[[LOST:.*]] = math.fma %[[X]], %[[X]], %[[N]]
// CHECK:         arith.addf %{{.*}}, %[[LOST]]
func.func @exp_of_product(%x: vector<8xf32>) -> vector<8xf32> {
  %p = arith.mulf %x, %x : vector<8xf32>
  %0 = math.exp %p fastmath<afn,ninf,contract> : vector<8xf32>
  return %0 : vector<8xf32>
}

// -----

// No logarithm of numbers from 0 to 1.
// CHECK-LABEL: func @log1p
// CHECK-COUNT-6: permps
// CHECK-NOT:     arith.divf
// CHECK:         return
// CHECK-LABEL: func @any_log1p
// CHECK-NOT:     permps
// CHECK:         arith.divf
func.func @log1p(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.log1p %x fastmath<ninf> : vector<8xf32>
  return %0 : vector<8xf32>
}
func.func @any_log1p(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.log1p %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// -----

// Vectors of other lengths in whole registers, scalars from memory.
// CHECK-LABEL: func @lengths
// CHECK:         vector.extract {{.*}} : f32 from vector<8xf32>
// CHECK:         vector.shuffle {{.*}} [0, 1, 2, 3, 0, 1, 2, 3]
// CHECK:         vector.shuffle {{.*}} [0, 1, 2, 3] : vector<8xf32>
// CHECK:         vector.insert_strided_slice {{.*}} {offsets = [8], strides = [1]} : vector<8xf32> into vector<16xf32>
// CHECK:         vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK:         vector.shape_cast {{.*}} : vector<8xf32> to vector<2x4xf32>
func.func @lengths(%x: f32, %y: vector<4xf32>, %z: vector<12xf32>, %u: vector<2x4xf32>) -> (f32, vector<4xf32>, vector<12xf32>, vector<2x4xf32>) {
  %0 = math.exp %x : f32
  %1 = math.exp %y : vector<4xf32>
  %2 = math.exp %z : vector<12xf32>
  %3 = math.exp %u : vector<2x4xf32>
  return %0, %1, %2, %3 : f32, vector<4xf32>, vector<12xf32>, vector<2x4xf32>
}

// -----

// The widest instruction where vectors fill it.
// WIDE-LABEL: func @wide
// WIDE:         "llvm.x86.avx512.permvar.sf.512"
// WIDE-NOT:     permps
func.func @wide(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}
