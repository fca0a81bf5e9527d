from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.gpu.lowered import arguments, check, scheduled
from tests.dlight.gpu.workloads import product
from tvm import tir
from tvm.dlight.gpu import Matmul
from tvm.dlight.gpu.matmul import MatmulInt8Tensorization, MatmulTensorization, MetalMatmul
from tvm.target import Target

A100 = Target("nvidia/nvidia-a100")


def expected(func: tir.PrimFunc, relu: bool = False) -> np.ndarray:
    a, b, _ = (x.astype("float64") for x in arguments(func))
    return np.maximum(a @ b.T, 0) if relu else a @ b.T


@pytest.mark.parametrize(
    ("shape", "dtype", "out"),
    [((128, 128, 128), "float16", "float32"), ((70, 90, 100), "float16", "float16"),
     ((128, 96, 96), "int8", "int32")],
)  # fmt: skip
def test_products_on_tensor_cores(shape: tuple[int, int, int], dtype: str, out: str) -> None:
    func = product(*shape, dtype=dtype, out=out, epilogue=dtype == "float16")
    want = expected(func, relu=dtype == "float16")
    text = str(check(Matmul(), func, A100, expected=want))
    assert "T.tvm_mma_sync" in text
    assert '"software_pipeline_order": [0, 3, 1, 4, 5, 2, 6]' in text
    assert '"tir.manifest_shared_memory_local_stage": 1' in text


def test_the_kernel_as_source() -> None:
    after = scheduled(Matmul(), product(128, 128, 128, dtype="float16"), A100)
    built = tvm.compile(tvm.IRModule({"main": after}), target=A100.with_host("llvm"))
    source = built.mod.imports[0].inspect_source()
    assert "nvcuda::wmma::mma_sync" in source


def test_symbolic_rows() -> None:
    text = str(scheduled(Matmul(), product("n", 128, 128, dtype="float16"), A100))
    assert "T.tvm_mma_sync" in text
    assert "(n + 127) // 128" in text


def test_other_types_and_targets_stay() -> None:
    floats = product(128, 128, 128)
    assert MatmulTensorization().apply(floats, A100, False) is None
    assert MatmulInt8Tensorization().apply(floats, A100, False) is None
    assert MetalMatmul().apply(floats, Target("metal"), False) is None
    half = product(128, 128, 128, dtype="float16")
    assert MatmulTensorization().apply(half, Target("llvm"), False) is None
    text = str(scheduled(Matmul(), half, Target("cuda -arch=sm_60")))
    assert "wmma" not in text
