// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

Cases matmulCases() {
  Cases cases;
  for (std::string shapes : {
           "5x7 7x11",
           "5x7 7x11c",
           "1x1 1x1",
           "1x64 64x128c",
           "64x1 1x64",
           "64x64 64x64c 64c",
           "128x96 96x80c",
           "13x17 17x19c 19c",
           "31x127 127x61c",
           "33x256 256x130c 130c",
           "257x63 63x257c",
           "5x7 7x11c 11",
           "5x7 7x11c 1x11",
           "5x7 7x11c 5x1",
           "5x7 7x11c 5x11",
           "5x7 7x11c 1",
           "5x7 7x11 ()",
           "0x7 7x11",
           "5x0 0x11",
           "5x0 0x11 11",
           "5x7 7x0",
           // Transposed sides; square ones would hide a mistake.
           "7x5 7x11c transpose_a=true",
           "5x7 11x7c transpose_b=true",
           "7x5 11x7c 11c transpose_a=true transpose_b=true",
           "64x48 128x48c transpose_b=true",
           "48x64 48x128 transpose_a=true",
           "2x3x7x5 2x3x7x11 transpose_a=true",
           "2x3x5x7 2x3x11x7 transpose_b=true",
           "2x3x7x5 2x3x11x7 transpose_a=true transpose_b=true",
           // One-dimensional sides.
           "7 7",
           "7 7x11c",
           "7 11x7 transpose_b=true",
           "5x7 7",
           "7x5 7 transpose_a=true",
           "7 3x7x11",
           "3x5x7 7",
           "7 7 ()",
           "7 7 1",
           "7 7c 1x1",
           "7 7x11 11",
           "128 128x256c",
           "256x128 128c",
           // Leading dims, equal, broadcast either way, missing.
           "3x5x7 3x7x11",
           "3x5x7 7x11c",
           "3x5x7 7x11c 11c",
           "5x7 3x7x11",
           "1x5x7 3x7x11",
           "3x5x7 1x7x11c",
           "2x1x5x7 3x7x11",
           "2x3x5x7 2x3x7x11",
           "2x3x5x7 3x7x11c",
           "2x1x3x5x7 1x4x3x7x11",
           "2x3x4x5x7 7x11c 11c",
           "0x5x7 0x7x11",
           "2x3x5x7 2x3x7x11 5x11",
           "2x3x5x7 2x3x7x11 2x3x1x11",
           "2x3x5x7 2x3x7x11 3x1x1",
           "12x32x64 12x64x32",
           "4x16x32x16 4x16x16x32",
           // Memory not row-major.
           "5x7<1,5> 7x11",
           "5x7 7x11<1,7>c",
           "5x7<10,1> 7x11<16,1>c",
           "5x7<14,2> 7x11<22,2>",
           "64x64<80,1> 64x64<72,1>c",
           "2x3x5x7<7,70,14,1> 2x3x7x11",
           "2x3x5x7<105,35,1,5> 2x3x7x11<231,77,1,7>",
           "5x7 7x11 accumulation_mode=relaxed",
           "5x7 7x11 accumulation_mode=any",
           "5x7 7x11 accumulation_mode=f32",
           "5x7 7x11 accumulation_mode=f16",
           "5x7 7x11 accumulation_mode=s32",
           // Enough work for several threads, and for cache blocking.
           "300x520 520x260c 260c",
           "1x1024 1024x1000c 1000c",
           "260x300 300x260 transpose_a=false",
           "300x130 300x260c transpose_a=true",
           "300x61 300x260 260 transpose_a=true",
           "2x300x3 300x260c transpose_a=true",
           "2x300x130 2x300x260 transpose_a=true",
           "1500x130 1500x260c transpose_a=true",
           "8x130x64 8x64x130",
           "16x1031 1031x17c",
           "5x7 7x11 accumulation_mode=strict",
       })
    cases.push_back("MatMul " + shapes);
  for (const char *text : {
           "y<1,5> = MatMul 5x7 7x11c",
           "y<16,1> = MatMul 5x7 7x11c 11c",
           "y<40,2> = MatMul 5x7 7x11c",
           "y<80,1> = MatMul 64x64 64x64c 64c",
           "y<11,110,22,1> = MatMul 2x3x5x7 2x3x7x11",
           "MatMul x:8x8 x",
           "MatMul x:8x8 x x",
           "MatMul x:5x7 x transpose_b=true",
           // K is cut into parts.
           "y = MatMul 16x4096 4096x40c 40c; ReLU y",
           "y = MatMul 2x3x2304 2304x160; Add y 2x3x1",
           "MatMul 9x6144 6144x40c accumulation_mode=strict",
           "MatMul 16x4096 40x4096c transpose_b=true",
           "y<56,1> = MatMul 16x4096<4104,1> 4096x40<48,1>",
           // Parts of K, one after the other.
           "y = MatMul 9x1500 1500x500c 500c; ReLU y",
           "y = MatMul 2x70x5000 5000x401c 401c; z = Add y 2x70x401; GELU z "
           "mode=gelu_erf",
           "y<420,1> = MatMul 5000x70<80,1> 5000x401c transpose_a=true",
           "MatMul 2x9x1500 2x1500x500",
           "y/bf16 = MatMul 9x2100/bf16 2100x500/bf16c",
           "Convolution 1x6x5x2500 1x1x2500x210c 210c strides=1,1 "
           "pads_begin=0,0 pads_end=0,0 dilations=1,1",
           // Few rows of weights that are not constant, as they lie.
           "MatMul 1x300 300x700",
           // Reshapes of what is no matrix in memory.
           "MatMul 16x4096 4096x64<128,2>",
           "t = ReLU 64x128x3; u = StaticTranspose t order=2,0,1; "
           "w = StaticReshape u shape=3,1,64,128 special_zero=false; "
           "MatMul 3x2x4x64 w",
           "x = StaticReshape 1x300x512<307200,1024,2> shape=300,512 "
           "special_zero=false; MatMul x 512x1",
           "Convolution 1x8x8x64<4194304,0,64,1> 3x3x16x64 groups=4 "
           "strides=1,1 pads_begin=0,0 pads_end=0,0 dilations=1,1",
           "MatMul 16x33 33x130 130",
           "MatMul 2x8x40 40x300",
           "MatMul 1x300 700x300 transpose_b=true",
           "MatMul 3x1x300 3x129x300 129 transpose_b=true",
           "MatMul 4x97 200x97<128,1> transpose_b=true",
           "MatMul 4x97 97x200<1,97>",
           "MatMul 4x97 97x200<2,200>",
           "y = MatMul 5x70 70x300; a = Add y 300; r = ReLU a; Multiply r 5x1",
           "y = MatMul 3x70 300x70 transpose_b=true; a = Add y 300; r = ReLU "
           "a; Multiply r 3x1",
           "y = MatMul 3x70 70x300; z/u8 = Quantize y scales=0.05 zps=128",
           "y = MatMul 3x70 300x70 transpose_b=true; z/u8 = Quantize y "
           "scales=0.05 zps=128",
           "MatMul 70x3 70x300 transpose_a=true",
           // One column: rows of src as dots.
           "MatMul 300x70 70x1c",
           "y = MatMul 2x150x70 70x1c 1c; Sigmoid y",
           "MatMul 2x150x70 2x70x1",
           "MatMul 70x300 70x1 transpose_a=true",
           "y<3,2> = MatMul 300x70<80,1> 70x1<4,1>",
           // Weights that are a result with strides.
           "w<192,2> = ReLU 64x96; y = MatMul 2x64 w; out w y",
           "x<128,2> = ReLU 96x64; y = MatMul x 64x1; out x y",
       })
    cases.push_back(text);
  return cases;
}

Cases convolutionCases() {
  static const std::string kOnes = " strides=1,1 pads_begin=0,0 pads_end=0,0"
                                   " dilations=1,1";
  Cases cases;
  auto add = [&](std::string text) {
    cases.push_back("Convolution " + std::move(text));
  };
  std::string nxc = kOnes, ncx = kOnes + " data_format=NCX weights_format=OIX";
  for (const std::string &text : {
           "1x5x5x3 3x3x3x4c" + nxc,
           "1x3x5x5 4x3x3x3c" + ncx,
           "2x7x9x16 3x3x16x32c 32c" + nxc,
           "2x16x7x9 32x16x3x3c 32c" + ncx,
           // The last spatial dim has one position.
           "2x33x1x24 5x1x24x40c 40c" + nxc,
           "2x24x33x1 40x24x5x1c" + ncx,
           std::string() +
               "2x24x33x1x1 40x24x4x1x1c strides=2,1,1 pads_begin=1,0,0 "
               "pads_end=2,0,0 dilations=1,1,1 data_format=NCX "
               "weights_format=OIX",
           "1x16x16x64 1x1x64x64c" + nxc,
           "1x64x16x16 64x64x1x1c 64c" + ncx,
           "1x8x8x5 3x3x5x7 7" + nxc,
           "2x8x8x5 7x5x3x3c" + kOnes + " weights_format=OIX",
           "2x5x8x8 3x3x5x7c" + kOnes + " data_format=NCX",
           "1x1x1x1 1x1x1x1c 1c" + nxc,
           "0x5x5x3 3x3x3x4c" + nxc,
           "1x5x5x4 3x3x2x6c groups=2" + nxc,
           "1x6x5x5 9x2x3x3c 9c groups=3" + ncx,
           "1x9x9x32 3x3x1x32c 32c groups=32" + nxc,
           "2x32x9x9 32x1x3x3c groups=32" + ncx,
           "1x8x6x6 16x1x3x3c groups=8" + ncx,
           "1x6x6x13 1x1x13x17c" + nxc,
           "2x28x28x48 3x3x48x40c 40c" + nxc,
           "2x48x28x28 40x48x1x1c" + ncx,
           "1x5x5x3<75,1,15,5> 3x3x3x4c" + nxc,
           "1x3x5x5<75,1,15,3> 4x3x3x3c" + ncx,
           "1x5x5x3<150,30,6,2> 3x3x3x4c 4c" + nxc,
       })
    add(text);
  struct Window {
    const char *src, *weights, *attrs;
  };
  for (const Window &w : std::initializer_list<Window>{
           {"1x9x8x3", "3x3x3x4c",
            "strides=2,2 pads_begin=1,1 pads_end=1,1 "
            "dilations=1,1"},
           {"1x9x8x3", "3x2x3x4c",
            "strides=2,1 pads_begin=0,1 pads_end=2,0 "
            "dilations=1,1"},
           {"1x9x8x3", "3x3x3x4c",
            "strides=1,1 pads_begin=2,1 pads_end=1,3 "
            "dilations=2,1"},
           {"1x11x11x3", "3x3x3x4c",
            "strides=2,3 pads_begin=0,0 pads_end=0,0 "
            "dilations=1,3"},
           {"1x9x8x3", "3x3x3x4c",
            "strides=2,2 pads_begin= pads_end= "
            "dilations=1,1 auto_pad=SAME_UPPER"},
           {"1x9x8x3", "3x2x3x4c",
            "strides=2,2 pads_begin=0,0 pads_end=0,0 "
            "dilations=1,1 auto_pad=SAME_LOWER"},
           {"1x9x8x3", "3x3x3x4c",
            "strides=2,2 pads_begin=1,1 pads_end=1,1 "
            "dilations=1,1 auto_pad=VALID"},
           {"1x9x8x3", "3x3x3x4c",
            "strides=1,1 pads_begin=1,1 pads_end=1,1 "
            "dilations=1,1 auto_pad=None"},
           {"1x2x2x3", "5x5x3x4c",
            "strides=1,1 pads_begin=2,2 pads_end=2,2 "
            "dilations=1,1"},
           {"1x32x32x3", "7x7x3x64c",
            "strides=2,2 pads_begin=3,3 "
            "pads_end=3,3 dilations=1,1"},
           {"2x7x7x64", "1x1x64x32c",
            "strides=2,2 pads_begin=0,0 "
            "pads_end=0,0 dilations=1,1"},
           {"1x6x6x8", "1x1x8x8c",
            "strides=1,1 pads_begin=1,1 pads_end=1,1 "
            "dilations=1,1"},
           {"2x11x5", "3x5x7c",
            "strides=1 pads_begin=0 pads_end=0 "
            "dilations=1"},
           {"2x11x5", "4x5x7c 7c",
            "strides=3 pads_begin=2 pads_end=1 "
            "dilations=2"},
           {"1x64x32", "1x32x48c",
            "strides=1 pads_begin=0 pads_end=0 "
            "dilations=1"},
           {"1x5x6x7x3", "3x3x3x3x4c",
            "strides=1,1,1 pads_begin=0,0,0 "
            "pads_end=0,0,0 dilations=1,1,1"},
           {"2x5x6x7x4", "3x2x3x2x6c 6c",
            "strides=2,1,2 pads_begin=1,0,1 pads_end=0,1,2 dilations=1,2,1 "
            "groups=2"}})
    add(std::string(w.src) + " " + w.weights + " " + w.attrs);
  for (const char *text : {
           "2x5x11 7x5x3c strides=2 pads_begin=1 pads_end=1 dilations=1 "
           "data_format=NCX weights_format=OIX",
           "1x3x9x8 8x3x3x3c 8c strides=2,2 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1 data_format=NCX weights_format=OIX",
           "1x16x9x8 16x1x3x3c strides=2,2 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1 groups=16 data_format=NCX weights_format=OIX",
           "1x9x8x16 16x1x3x3c strides=1,1 pads_begin=1,1 pads_end=1,1 "
           "dilations=2,2 groups=16 weights_format=OIX",
           "1x3x5x6x7 4x3x3x3x3c strides=1,2,1 pads_begin=1,1,1 "
           "pads_end=1,1,1 dilations=1,1,1 data_format=NCX "
           "weights_format=OIX",
       })
    add(text);
  // Large products beside a small src: rows are padded first.
  for (const char *text : {
           "2x5x5x16 3x3x16x48c 48c strides=1,1 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1",
           "1x32x7x7 64x32x3x3c strides=2,2 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1 data_format=NCX weights_format=OIX",
           "1x6x7x16 3x5x16x40c strides=1,2 pads_begin=0,3 pads_end=1,0 "
           "dilations=2,1",
           "1x9x4x8 3x3x8x64c strides=1,3 pads_begin=1,2 pads_end=1,5 "
           "dilations=1,1",
           "3x7x16 5x16x96c strides=1 pads_begin=4 pads_end=4 dilations=2",
           "1x4x5x6x8 3x3x3x8x48c strides=1,1,1 pads_begin=1,1,1 "
           "pads_end=1,1,1 dilations=1,1,1",
           "2x5x5x16 3x3x8x96c strides=1,1 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1 groups=2",
           // Padding alone in the first and last windows.
           "1x3x3x16 3x3x16x48c strides=1,1 pads_begin=4,4 pads_end=4,4 "
           "dilations=1,1",
       })
    add(text);
  // Panels of which L2 holds no two: rows of taps are summed one after the
  // other, of which those at the top and the bottom have not all, or none.
  for (const char *text : {
           "2x5x4x600 3x3x600x140c 140c strides=2,1 pads_begin=1,1 "
           "pads_end=1,1 dilations=1,1",
           "1x3x3x600 3x3x600x60c strides=1,1 pads_begin=4,1 pads_end=4,1 "
           "dilations=1,1",
           "1x5x6x700 2x4x350x200c strides=1,2 pads_begin=1,0 pads_end=1,2 "
           "dilations=2,1 groups=2",
           "1x2x3x4x320 3x3x3x320x60c strides=1,1,1 pads_begin=1,1,1 "
           "pads_end=1,1,1 dilations=1,1,1",
           "1x9x1400 5x1400x140c strides=2 pads_begin=2 pads_end=2 "
           "dilations=1",
       })
    add(text);
  cases.push_back("y = Convolution 1x600x5x5 140x600x3x3c 140c strides=1,2 "
                  "pads_begin=1,1 pads_end=1,1 dilations=1,1 data_format=NCX "
                  "weights_format=OIX; z = Add y 1x140x5x3; ReLU z");
  // Columns at the ends that have the same taps: three of them and more, no
  // inner ones, more kinds than are worth the code, windows of padding alone.
  for (const char *text : {
           "2x13x17x24 3x3x24x40c 40c strides=1,1 pads_begin=4,6 pads_end=4,6 "
           "dilations=4,6",
           "1x9x9x20 3x3x20x48c strides=1,1 pads_begin=6,6 pads_end=6,6 "
           "dilations=6,6",
           "1x40x16 3x16x48c 48c strides=1 pads_begin=12 pads_end=12 "
           "dilations=12",
           "1x8x23x16 3x5x8x32c strides=1,2 pads_begin=2,10 pads_end=2,9 "
           "dilations=2,5 groups=2",
           "1x5x90x6 2x12x6x20c strides=1,1 pads_begin=1,40 pads_end=1,40 "
           "dilations=2,7",
           "1x3x20x8 3x3x8x24c strides=1,1 pads_begin=2,30 pads_end=2,30 "
           "dilations=2,4",
           "1x24x13x17 40x24x3x3c strides=2,1 pads_begin=3,5 pads_end=3,5 "
           "dilations=3,5 data_format=NCX weights_format=OIX",
       })
    add(text);
  // Depthwise: all taps known, too many of them, and not by rows.
  for (const char *text : {
           "2x7x9x20 3x3x1x20c 20c strides=1,1 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1 groups=20",
           "1x8x9x33 3x3x1x33c strides=2,2 pads_begin=0,1 pads_end=1,0 "
           "dilations=1,1 groups=33",
           "1x9x8x16 5x5x1x16c strides=1,1 pads_begin=2,2 pads_end=2,2 "
           "dilations=1,1 groups=16",
           "1x9x9x16 3x3x1x16c strides=1,2 pads_begin=2,3 pads_end=2,1 "
           "dilations=2,1 groups=16",
           "1x2x2x8 3x3x1x8c strides=1,1 pads_begin=3,3 pads_end=3,3 "
           "dilations=1,1 groups=8",
           // Nearly all windows meet nothing; cut windows by the hundred.
           "1x1x1x8 9x9x1x8c strides=2,2 pads_begin=17,17 pads_end=17,17 "
           "dilations=2,2 groups=8",
           "1x2x3x8 3x3x1x8c strides=1,1 pads_begin=60,40 pads_end=60,40 "
           "dilations=1,1 groups=8",
           "2x13x24 4x1x24c 24c strides=1 pads_begin=2 pads_end=1 dilations=1 "
           "groups=24",
           "1x3x4x5x8 3x3x3x1x8c strides=1,1,1 pads_begin=1,1,1 "
           "pads_end=1,1,1 dilations=1,1,1 groups=8",
       })
    add(text);
  // Narrow groups, whose channels are lanes: ends of vectors, cut windows,
  // strides, many taps, one and three dimensions, and the other orders.
  for (const char *text : {
           "2x7x9x20 3x3x4x20c 20c strides=1,1 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1 groups=5",
           "1x6x31x32 3x3x8x32c strides=1,1 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1 groups=4",
           "1x9x8x6 3x3x2x6c strides=2,2 pads_begin=0,1 pads_end=1,0 "
           "dilations=1,1 groups=3",
           "1x9x14x24 3x5x8x24c 24c strides=2,1 pads_begin=2,3 pads_end=2,1 "
           "dilations=2,1 groups=3",
           "1x5x17x16 3x13x2x16c strides=1,1 pads_begin=1,6 pads_end=1,6 "
           "dilations=1,1 groups=8",
           "2x13x40 4x4x40c strides=1 pads_begin=2 pads_end=1 dilations=1 "
           "groups=10",
           "1x3x4x5x16 3x3x3x2x16c strides=1,1,1 pads_begin=1,1,1 "
           "pads_end=1,1,1 dilations=1,1,1 groups=8",
           "1x4x5x8 1x1x4x8c strides=1,1 pads_begin=0,0 pads_end=0,0 "
           "dilations=1,1 groups=2",
           "1x2x2x8 3x3x4x8c strides=1,1 pads_begin=3,3 pads_end=3,3 "
           "dilations=1,1 groups=2",
           "2x24x9x8 24x4x3x3c 24c strides=1,1 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1 groups=6 data_format=NCX weights_format=OIX",
           // More than L2: rows are fetched.
           "1x61x57x160 3x3x4x160c strides=2,1 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1 groups=40",
       })
    add(text);
  cases.push_back("y<720,1,80,8> = Convolution 1x9x10x8 3x3x4x8c groups=2" +
                  nxc);
  cases.push_back("y<27,1,9,3> = Convolution 1x5x5x2 3x3x2x3c" + nxc);
  cases.push_back("y<100,1,24,8> = Convolution 1x2x5x5 4x2x3x3c" + ncx);
  // Few channels: taps of a row are one piece of K; and more of them.
  for (const Window &w : std::initializer_list<Window>{
           {"2x33x31x3", "7x7x3x40c",
            "strides=2,2 pads_begin=3,3 pads_end=3,3 dilations=1,1"},
           {"1x12x19x1", "5x5x1x8c",
            "strides=1,1 pads_begin=2,2 pads_end=1,0 dilations=1,1"},
           {"1x12x19x2", "3x4x2x24",
            "strides=1,3 pads_begin=0,0 pads_end=0,0 dilations=2,1"},
           {"1x12x19x4", "3x3x4x17c",
            "strides=1,2 pads_begin=1,0 pads_end=1,0 dilations=1,1"},
           {"1x3x2x3", "5x5x3x4c",
            "strides=1,1 pads_begin=2,2 pads_end=2,2 dilations=1,1"},
           {"2x20x3", "5x3x8c",
            "strides=2 pads_begin=2 pads_end=1 dilations=1"},
           {"1x5x6x7x2", "3x3x3x2x5c",
            "strides=1,1,2 pads_begin=1,1,1 pads_end=1,1,0 dilations=1,1,1"},
           {"1x9x8x9", "3x3x9x4c",
            "strides=2,2 pads_begin=1,1 pads_end=1,1 dilations=1,1"},
           {"1x9x8x13", "3x2x13x20c",
            "strides=2,1 pads_begin=0,1 pads_end=2,0 dilations=1,1"},
           {"1x9x8x6", "3x3x6x4c",
            "strides=1,1 pads_begin=2,1 pads_end=1,3 dilations=2,1"}})
    add(std::string(w.src) + " " + w.weights + " " + w.attrs +
        " data_format=NXC weights_format=XIO");
  add("2x3x33x31 40x3x7x7c 40c strides=2,2 pads_begin=3,3 pads_end=3,3 "
      "dilations=1,1 data_format=NCX weights_format=OIX");
  // Depthwise with many taps: rows of taps in a loop, some channels at a time.
  for (const Window &w : std::initializer_list<Window>{
           {"2x9x8x96", "5x5x1x96c 96c",
            "strides=1,1 pads_begin=2,2 pads_end=2,2 dilations=1,1 groups=96"},
           {"1x7x6x115", "7x7x1x115c",
            "strides=1,1 pads_begin=3,3 pads_end=3,3 dilations=1,1 groups=115"},
           {"1x15x16x48", "7x5x1x48c",
            "strides=2,2 pads_begin=2,3 pads_end=1,2 dilations=1,2 groups=48"},
           {"1x5x4x24", "11x13x1x24c",
            "strides=1,1 pads_begin=5,6 pads_end=5,6 dilations=1,1 groups=24"},
           {"1x3x4x32", "5x3x1x32c",
            "strides=1,1 pads_begin=2,9 pads_end=2,9 dilations=1,1 groups=32"}})
    add(std::string(w.src) + " " + w.weights + " " + w.attrs +
        " data_format=NXC weights_format=XIO");
  cases.push_back("y = Convolution 1x64x9x8 64x1x5x5c 64c strides=1,1 "
                  "pads_begin=2,2 pads_end=2,2 dilations=1,1 groups=64 "
                  "data_format=NCX weights_format=OIX; s = Sigmoid y; "
                  "Multiply y s");
  return cases;
}

} // namespace tenon::test
