"""Products of groups of rows with a matrix each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.grouped import grouped_mm
from tvm.relax.interp import Interpreter


def program(dtype: str, groups: int, rank: int = 3, **options: Any) -> Any:
    """A module that multiplies 7 rows of 4 by matrices of 4 x 5."""
    bb = BlockBuilder()
    shape = (groups, 4, 5)[3 - rank :]
    rows = relax.Var("rows", relax.TensorStructInfo((7, 4), dtype))
    matrices = relax.Var("matrices", relax.TensorStructInfo(shape, dtype))
    ends = relax.Var("ends", relax.TensorStructInfo((groups,), "int32"))
    with bb.function("main", [rows, matrices, ends]):
        with bb.dataflow():
            made = bb.emit_output(grouped_mm(bb, rows, matrices, ends, **options))
        bb.emit_func_output(made)
    return bb.get()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("ends", [[2, 2, 7], [0, 3, 5], [7, 7, 7], [0, 0, 0]])
def test_groups(dtype: str, ends: list[int]) -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((7, 4)).astype(dtype)
    matrices = rng.standard_normal((3, 4, 5)).astype(dtype)
    wanted = np.zeros((7, 5), dtype)
    for matrix, start, end in zip(matrices, [0, *ends], ends):
        wanted[start:end] = rows[start:end] @ matrix
    found = Interpreter(program(dtype, 3)).run("main", rows, matrices, np.array(ends, "int32"))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-2 if dtype == "float16" else 1e-5, atol=1e-2)


def test_refusals() -> None:
    with pytest.raises(OpAttributeUnImplemented, match="a matrix a group"):
        program("float32", 3, rank=2)
    bias = relax.const(np.zeros(5, "float32"))
    with pytest.raises(OpAttributeUnImplemented, match="no bias"):
        program("float32", 3, bias=bias)
