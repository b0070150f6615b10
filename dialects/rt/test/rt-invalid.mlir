// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @f(%n: index) {
  // expected-error @+1 {{body takes (index, index, memref<?xi8>)}}
  rt.parallel "a" items(%n) scratch(%n) {
  ^bb0(%begin: index, %end: index):
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{body takes (index, index, memref<?xi8>)}}
  rt.parallel "a" items(%n) scratch(%n) {
  ^bb0(%begin: index, %end: index, %mem: memref<?xf32>):
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{body takes (index, index, memref<?xi8>)}}
  rt.parallel "a" items(%n) scratch(%n) {
  ^bb0(%begin: index, %end: i64, %mem: memref<?xi8>):
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{no function named @absent}}
  rt.section @absent "a" items(%n) scratch(%n) args()
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{passes 1 arguments, @g takes 2}}
  rt.section @g "a" items(%n) scratch(%n) args(%x : f32)
  return
}
func.func private @g(f32, f32, index, index, memref<?xi8>)

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{argument 1 is 'f32', expected 'i32'}}
  rt.section @g "a" items(%n) scratch(%n) args(%x, %x : f32, f32)
  return
}
func.func private @g(f32, i32, index, index, memref<?xi8>)

// -----

func.func @f() {
  // expected-error @+1 {{expects parent op 'rt.parallel'}}
  rt.yield
}

// -----

func.func @f(%x: memref<4x8xf32>) {
  // expected-error @+1 {{part of 'memref<4x8xf32>' has type 'memref<4x4xi32>'}}
  %0 = rt.part %x[0] : memref<4x8xf32> to memref<4x4xi32>
  return
}

// -----

func.func @f(%x: memref<4x8xf32>) {
  // expected-error @+1 {{buffers have offset 0, not 'memref<4x4xf32, strided<[8, 1], offset: 4>>'}}
  %0 = rt.part %x[4] : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 4>>
  return
}

// -----

func.func @f(%x: memref<4x8xf32>) {
  // expected-error @+1 {{elements from 5 on do not fit into 'memref<4x8xf32>'}}
  %0 = rt.part %x[5] : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1]>>
  return
}
