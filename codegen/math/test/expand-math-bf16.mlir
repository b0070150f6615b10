// RUN: tenon-opt %s --tenon-set-target=fields=avx512=true,avx512_bf16=true --tenon-expand-math | FileCheck %s
// RUN: tenon-opt %s --tenon-set-target=fields=avx512=true --tenon-expand-math | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: cvtneps2bf16

// CHECK-LABEL: func @normal
// CHECK-NEXT:    llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"
// CHECK-NEXT:    return
func.func @normal(%x: vector<16xf32>) -> vector<16xbf16> {
  %0 = arith.truncf %x fastmath<afn> : vector<16xf32> to vector<16xbf16>
  return %0 : vector<16xbf16>
}

// CHECK-LABEL: func @half
// CHECK-NEXT:    llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.256"
func.func @half(%x: vector<8xf32>) -> vector<8xbf16> {
  %0 = arith.truncf %x fastmath<afn> : vector<8xf32> to vector<8xbf16>
  return %0 : vector<8xbf16>
}

// The instruction takes denormal numbers for 0, and is one for 8 or 16 lanes.
// CHECK-LABEL: func @declined
// CHECK-NOT:     call_intrinsic
func.func @declined(%x: vector<16xf32>, %y: vector<4xf32>, %z: f32) -> (vector<16xbf16>, vector<4xbf16>, bf16) {
  %0 = arith.truncf %x : vector<16xf32> to vector<16xbf16>
  %1 = arith.truncf %y fastmath<afn> : vector<4xf32> to vector<4xbf16>
  %2 = arith.truncf %z fastmath<afn> : f32 to bf16
  return %0, %1, %2 : vector<16xbf16>, vector<4xbf16>, bf16
}

// One limit where no result is infinite: 0 instead of denormal numbers.
// CHECK-LABEL: func @exp
// CHECK-NOT:     arith.cmpf ogt
// CHECK:         "llvm.x86.avx512.permvar.sf.512"
// CHECK:         arith.cmpf uge
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    arith.select
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x fastmath<afn,ninf> : vector<16xf32>
  return %0 : vector<16xf32>
}

// What is one of several numbers of bf16 is not rounded; 0.1 is none.
// CHECK-LABEL: func @exact
// CHECK-NOT:     arith.addi
// CHECK:         return
func.func @exact(%x: vector<8xbf16>, %y: vector<8xbf16>) -> (vector<8xbf16>, vector<8xbf16>) {
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %a = arith.extf %x : vector<8xbf16> to vector<8xf32>
  %b = arith.extf %y : vector<8xbf16> to vector<8xf32>
  %below = arith.cmpf olt, %a, %zero : vector<8xf32>
  %0 = arith.select %below, %zero, %a : vector<8xi1>, vector<8xf32>
  %1 = arith.truncf %0 : vector<8xf32> to vector<8xbf16>
  %m = arith.maximumf %a, %b : vector<8xf32>
  %2 = math.absf %m : vector<8xf32>
  %3 = arith.truncf %2 : vector<8xf32> to vector<8xbf16>
  return %1, %3 : vector<8xbf16>, vector<8xbf16>
}
// CHECK-LABEL: func @inexact
// CHECK-COUNT-4: arith.addi
func.func @inexact(%x: vector<8xbf16>) -> (vector<8xbf16>, vector<8xbf16>) {
  %limit = arith.constant dense<0.1> : vector<8xf32>
  %a = arith.extf %x : vector<8xbf16> to vector<8xf32>
  %above = arith.cmpf ogt, %a, %limit : vector<8xf32>
  %0 = arith.select %above, %limit, %a : vector<8xi1>, vector<8xf32>
  %1 = arith.truncf %0 : vector<8xf32> to vector<8xbf16>
  %2 = arith.addf %a, %a : vector<8xf32>
  %3 = arith.truncf %2 : vector<8xf32> to vector<8xbf16>
  return %1, %3 : vector<8xbf16>, vector<8xbf16>
}
