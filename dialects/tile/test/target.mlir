// RUN: tenon-opt %s --split-input-file | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=l2_bytes=1048576,avx512=true | FileCheck %s --check-prefix=SET
// RUN: not tenon-opt %s --tenon-set-target=fields=bits=3 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: duplicate or unknown struct parameter name: bits

// What is as by default is not written.
// CHECK: module attributes {tile.target = #tile.target<vector_bits = 512, matrix_unit = true>}
// SET: module attributes {tile.target = #tile.target<avx512 = true, l2_bytes = 1048576>}
module attributes {tile.target = #tile.target<matrix_unit = true, vector_bits = 512, few_rows = 5>} {}

// -----

// CHECK: module attributes {tile.target = #tile.target<>}
// SET: module attributes {tile.target = #tile.target<avx512 = true, l2_bytes = 1048576>}
module attributes {tile.target = #tile.target<>} {}
