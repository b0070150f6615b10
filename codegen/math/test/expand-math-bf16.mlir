// RUN: tenon-opt %s --tenon-expand-math="avx512 avx512bf16" | FileCheck %s
// RUN: tenon-opt %s --tenon-expand-math=avx512 | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: cvtneps2bf16

// CHECK-LABEL: func @normal
// CHECK-NEXT:    llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"
// CHECK-NEXT:    return
func.func @normal(%x: vector<16xf32>) -> vector<16xbf16> {
  %0 = arith.truncf %x fastmath<afn> : vector<16xf32> to vector<16xbf16>
  return %0 : vector<16xbf16>
}

// The instruction takes denormal numbers for 0, and is one for 16 lanes.
// CHECK-LABEL: func @declined
// CHECK-NOT:     call_intrinsic
func.func @declined(%x: vector<16xf32>, %y: vector<8xf32>, %z: f32) -> (vector<16xbf16>, vector<8xbf16>, bf16) {
  %0 = arith.truncf %x : vector<16xf32> to vector<16xbf16>
  %1 = arith.truncf %y fastmath<afn> : vector<8xf32> to vector<8xbf16>
  %2 = arith.truncf %z fastmath<afn> : f32 to bf16
  return %0, %1, %2 : vector<16xbf16>, vector<8xbf16>, bf16
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
