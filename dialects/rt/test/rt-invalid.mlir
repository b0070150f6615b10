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
