module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xi32>) -> (tensor<4xi32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %1 = stablehlo.shift_left %arg0, %0 : tensor<4xi32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %3 = stablehlo.shift_right_arithmetic %arg0, %2 : tensor<4xi32>
    %4 = stablehlo.xor %1, %3 : tensor<4xi32>
    %5 = stablehlo.not %arg0 : tensor<4xi32>
    %6 = stablehlo.and %4, %5 : tensor<4xi32>
    %7 = stablehlo.popcnt %arg0 : tensor<4xi32>
    %8 = stablehlo.or %6, %7 : tensor<4xi32>
    return %8 : tensor<4xi32>
  }
}
