// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{vector_bits is 100, must be a power of two from 32 to 512}}
module attributes {tile.target = #tile.target<vector_bits = 100>} {}

// -----

// expected-error @+1 {{num_vector_registers is 3, the least value is 4}}
module attributes {tile.target = #tile.target<num_vector_registers = 3>} {}

// -----

// expected-error @+1 {{int8_dot_width is 0, the least value is 1}}
module attributes {tile.target = #tile.target<int8_dot_width = 0>} {}
