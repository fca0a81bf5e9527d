"""Patterns of hipBLAS; shapes: tests of cuBLAS, which takes the same."""

from __future__ import annotations

import pytest

from tests.relax.backend.cuda_programs import graph, op, taken
from tvm.relax.backend.rocm.hipblas import partition_for_hipblas

pytestmark = pytest.mark.pure


def test_annotations() -> None:
    mod = partition_for_hipblas(graph((4, 8), (8, 8), make=lambda bb, x, y: op.matmul(x, y)))
    assert taken(mod) == ["hipblas.matmul"]
    assert 'R.func_attr({"Codegen": "hipblas"})' in mod.script()


def test_types() -> None:
    for dtype in ("bfloat16", "float32", "int8"):
        mod = graph((4, 8), (8, 8), dtype=dtype, make=lambda bb, x, y: op.matmul(x, y))
        assert taken(partition_for_hipblas(mod)) == []
