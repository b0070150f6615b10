// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @f(%w: tensor<64x40xsi8>) {
  // expected-error @+1 {{quantized weights have 5 bits, must be 4 or 8}}
  %0 = tile.pack_quantized %w panel 16 quantized <bits = 5, is_signed = true, group = 0, zero_points = false> : tensor<64x40xsi8> -> tensor<3x64x16xui8>
  return
}

// -----

func.func @f(%w: tensor<63x40xsi8>) {
  // expected-error @+1 {{a group of 21 quantized weights of 4 bits does not fill bytes}}
  %0 = tile.pack_quantized %w panel 16 quantized <bits = 4, is_signed = true, group = 21, zero_points = false> : tensor<63x40xsi8> -> tensor<3x64x16xui8>
  return
}

// -----

func.func @f(%w: tensor<63x40xsi8>) {
  // expected-error @+1 {{K divided by the groups}}
  %0 = tile.pack_quantized %w panel 16 quantized <bits = 4, is_signed = true, group = 0, zero_points = false> : tensor<63x40xsi8> -> tensor<3x64x16xui8>
  return
}

// -----

func.func @f(%w: tensor<64x40xsi8>) {
  // expected-error @+1 {{scales must be 'tensor<2x40xf32>'}}
  %0 = tile.pack_quantized %w panel 16 quantized <bits = 8, is_signed = true, group = 32, zero_points = false> : tensor<64x40xsi8> -> tensor<3x72x16xui8>
  return
}

// -----

func.func @f(%w: tensor<64x40xsi8>, %s: tensor<1x40xf32>) {
  // expected-error @+1 {{scales must be absent}}
  %0 = tile.pack_quantized %w scales %s panel 16 quantized <bits = 8, is_signed = true, group = 0, zero_points = false> : tensor<64x40xsi8>, tensor<1x40xf32> -> tensor<3x64x16xui8>
  return
}

// -----

func.func @f(%w: tensor<64x40xsi8>, %z: tensor<1x40xui8>) {
  // expected-error @+1 {{zero points must be 'tensor<1x40xsi8>'}}
  %0 = tile.pack_quantized %w zero_points %z panel 16 quantized <bits = 8, is_signed = true, group = 0, zero_points = true> : tensor<64x40xsi8>, tensor<1x40xui8> -> tensor<3x65x16xui8>
  return
}

// -----

func.func @f(%w: tensor<64x40xsi8>) {
  // expected-error @+1 {{expected ui8 of 3, 64, 16}}
  %0 = tile.pack_quantized %w panel 16 quantized <bits = 8, is_signed = true, group = 0, zero_points = false> : tensor<64x40xsi8> -> tensor<3x65x16xui8>
  return
}

// -----

func.func @f(%x: tensor<4x64xsi8>, %p: tensor<3x64x16xui8>) {
  // expected-error @+1 {{quantized weights meet floats and a known K of whole groups}}
  %0 = tile.matmul %x, %p quantized <bits = 8, is_signed = true, group = 0, zero_points = false> : tensor<4x64xsi8>, tensor<3x64x16xui8> -> tensor<4x40xf32>
  return
}

// -----

func.func @f(%x: tensor<4x64xf32>, %p: tensor<3x64x16xui8>) {
  // expected-error @+1 {{K of weights is 64, expected 32}}
  %0 = tile.matmul %x, %p quantized <bits = 4, is_signed = true, group = 0, zero_points = false> : tensor<4x64xf32>, tensor<3x64x16xui8> -> tensor<4x40xf32>
  return
}

// -----

func.func @f(%a: memref<6x64xf32>, %b: memref<63x32xi8>, %c: memref<6x32xf32>) {
  // expected-error @+1 {{rows of quantized weights for K and b differ: 64 and 63}}
  tile.brgemm ins(%a, %b : memref<6x64xf32>, memref<63x32xi8>) outs(%c : memref<6x32xf32>) quantized <bits = 8, is_signed = true, group = 0, zero_points = false>
  return
}

// -----

func.func @f(%a: memref<6x?xf32>, %b: memref<64x32xi8>, %c: memref<6x32xf32>) {
  // expected-error @+1 {{a K that is known and divides into their groups}}
  tile.brgemm ins(%a, %b : memref<6x?xf32>, memref<64x32xi8>) outs(%c : memref<6x32xf32>) quantized <bits = 8, is_signed = true, group = 0, zero_points = false>
  return
}

// -----

func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{4 int8 slices and groups of 32 quantized weights; must be 0, or 2 or 3}}
  %0 = tile.to_int8_slices %x quantized <bits = 8, is_signed = true, group = 32, zero_points = false, slices = 4> : tensor<4x64xf32> -> tensor<4x224xui8>
  return
}

// -----

func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{3 int8 slices and groups of 4 quantized weights}}
  %0 = tile.to_int8_slices %x quantized <bits = 4, is_signed = true, group = 4, zero_points = false, slices = 3> : tensor<4x64xf32> -> tensor<4x224xui8>
  return
}

// -----

func.func @f(%x: tensor<4x?xf32>) {
  // expected-error @+1 {{needs int8 slices, floats and a known K of whole groups}}
  %0 = tile.to_int8_slices %x quantized <bits = 8, is_signed = true, group = 32, zero_points = false, slices = 3> : tensor<4x?xf32> -> tensor<4x224xui8>
  return
}

// -----

func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expected ui8 of 4, 224}}
  %0 = tile.to_int8_slices %x quantized <bits = 8, is_signed = true, group = 32, zero_points = false, slices = 3> : tensor<4x64xf32> -> tensor<4x192xui8>
  return
}

// -----

func.func @f(%x: tensor<4x64xf32>, %p: tensor<3x72x16xui8>) {
  // expected-error @+1 {{quantized weights meet floats and a known K of whole groups}}
  %0 = tile.matmul %x, %p quantized <bits = 8, is_signed = true, group = 32, zero_points = false, slices = 3> : tensor<4x64xf32>, tensor<3x72x16xui8> -> tensor<4x40xf32>
  return
}

// -----

func.func @f(%a: memref<6x57xf32>, %b: memref<72x32xi8>, %c: memref<6x32xf32>) {
  // expected-error @+1 {{a K that is known and divides into their groups}}
  tile.brgemm ins(%a, %b : memref<6x57xf32>, memref<72x32xi8>) outs(%c : memref<6x32xf32>) quantized <bits = 8, is_signed = true, group = 32, zero_points = false, slices = 3>
  return
}
