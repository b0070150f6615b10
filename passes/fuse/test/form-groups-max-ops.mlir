// RUN: tenon-opt %s --tenon-form-groups='max-ops=2 remarks=true' --verify-diagnostics | FileCheck %s
// RUN: tenon-opt %s --tenon-form-groups=max-ops=3 | FileCheck %s --check-prefix=THREE
// RUN: tenon-opt %s --tenon-form-groups=max-ops=2 2>&1 | FileCheck %s --implicit-check-not="remark: "

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Exp_Sqrt(
// CHECK-NEXT:    call @g_ReLU(
// THREE-LABEL: func.func @main
// THREE-NEXT:    call @g_Exp_Sqrt_ReLU(
// THREE-NEXT:    return
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.Exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.Sqrt %0 : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{the group already has 2 operations (max-ops)}}
  %2 = graph.ReLU %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
