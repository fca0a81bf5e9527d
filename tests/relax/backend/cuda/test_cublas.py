from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.backend.cuda_programs import graph, op, taken
from tvm import relax, tir
from tvm.relax.backend import get_pattern, get_patterns_with_prefix
from tvm.relax.backend.cuda.cublas import partition_for_cublas
from tvm.relax.backend.rocm.hipblas import partition_for_hipblas

pytestmark = pytest.mark.pure
M = tir.Var("m", "int64")


def product(transposed: bool = False, bias: bool = False, activation: str | None = None) -> Any:
    def make(bb: relax.BlockBuilder, x: Any, y: Any, *rest: Any) -> Any:
        out = bb.emit(op.matmul(x, bb.emit(op.permute_dims(y)) if transposed else y))
        if bias:
            out = bb.emit(op.add(out, rest[0]))
        return getattr(op.nn, activation)(out) if activation else op.negative(out)

    return make


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("bias", "activation", "name"), [
    (False, None, "matmul"), (True, None, "matmul_bias"), (True, "relu", "matmul_bias_relu"),
    (True, "gelu", "matmul_bias_gelu"), (False, "relu", "matmul"),
])  # fmt: skip
@pytest.mark.parametrize("library", ["cublas", "hipblas"])
def test_products(
    library: str, transposed: bool, bias: bool, activation: str | None, name: str
) -> None:
    right = (24, 16) if transposed else (16, 24)
    mod = graph((M, 16), right, (24,), make=product(transposed, bias, activation))
    partition = partition_for_cublas if library == "cublas" else partition_for_hipblas
    wanted = name.replace("matmul", "matmul_transposed") if transposed else name
    assert taken(partition(mod)) == [f"{library}.{wanted}"]


@pytest.mark.parametrize(
    ("lhs", "rhs", "dtype", "fits"),
    [
        ((4, 8, 16), (4, 16, 8), "float32", True),
        ((4, 8, 16), (16, 8), "float16", True),
        ((4, 8, 16), (1, 16, 8), "float32", True),
        ((1, 8, 16), (4, 16, 8), "float16", False),
        ((16, 16), (16, 8), "float64", False),
        ((16, M), (M, 8), "float32", False),
        ((16, 16), (16, 8), "int8", True),
        ((16, 18), (18, 8), "int8", False),
    ],
)
def test_what_fits(lhs: Any, rhs: Any, dtype: str, fits: bool) -> None:
    for partition in (partition_for_cublas, partition_for_hipblas):
        mod = graph(lhs, rhs, dtype=dtype, make=lambda bb, x, y: op.matmul(x, y))
        known = partition is partition_for_cublas or dtype == "float16"
        assert bool(taken(partition(mod))) is (fits and known)


def test_bias_of_several_rows() -> None:
    mod = graph((8, 16), (16, 24), (8, 24), make=product(bias=True))
    assert taken(partition_for_cublas(mod)) == ["cublas.matmul"]


def test_float8() -> None:
    def make(bb: relax.BlockBuilder, x: Any, y: Any) -> Any:
        return op.matmul(x, bb.emit(op.permute_dims(y)), out_dtype="float16")

    mod = graph((16, 32), (16, 32), dtype="float8_e4m3fn", make=make)
    assert taken(partition_for_cublas(mod)) == ["cublas.matmul_transposed"]
    plain = graph((16, 32), (32, 16), dtype="float8_e4m3fn",
                  make=lambda bb, x, y: op.matmul(x, y, out_dtype="float16"))  # fmt: skip
    assert taken(partition_for_cublas(plain)) == []


@pytest.mark.parametrize(("zero", "name"), [(0.0, "cublas.matmul_transposed_dequantize"),
                                            (1.0, "cublas.matmul_transposed")])  # fmt: skip
def test_dequantized(zero: float, name: str) -> None:
    def make(bb: relax.BlockBuilder, x: Any, y: Any) -> Any:
        out = bb.emit(op.matmul(x, bb.emit(op.permute_dims(y)), out_dtype="int32"))
        scale = relax.const(np.float32(0.5)), relax.const(np.int8(zero))
        return op.dequantize(out, *scale, axis=-1, out_dtype="float32")

    mod = graph((16, 32), (16, 32), dtype="int8", make=make)
    assert taken(partition_for_cublas(mod)) == [name]


def test_patterns_are_found_by_name() -> None:
    assert get_pattern("cublas.matmul") is not None
    names = [p.name for p in get_patterns_with_prefix("cublas.matmul_transposed")]
    assert names[0] == "cublas.matmul_transposed_multiply"
    assert names[-1] == "cublas.matmul_transposed"
