"""Patterns of hipBLAS; what fits: tests of cuBLAS, which has the same."""

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
    mod = graph((4, 8), (8, 8), dtype="bfloat16", make=lambda bb, x, y: op.matmul(x, y))
    assert taken(partition_for_hipblas(mod)) == []
