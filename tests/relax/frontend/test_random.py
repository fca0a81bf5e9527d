"""Random numbers of importers: calls that draw as the program runs."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.frontend.random import drawn

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_two_draws_are_two_even_where_they_are_written_alike(dtype: str) -> None:
    bb, n = relax.BlockBuilder(), tvm.tir.SizeVar("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n], "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            alike = [bb.emit(drawn(bb, "uniform", [-1, 1.0], [n], dtype)) for _ in range(2)]
            result = bb.emit_output(relax.Tuple(alike))
        bb.emit_func_output(result)
    vm = relax.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())
    a, b = (part.numpy() for part in vm["main"](tvm.runtime.tensor(np.zeros(900, "float32"))))
    assert a.dtype == dtype
    assert a.shape == (900,)
    assert (a != b).any()
    assert -1 <= a.min() < -0.9
    assert 0.9 < a.max() <= 1


def test_integers_have_limits_that_may_be_extents() -> None:
    bb, n = relax.BlockBuilder(), tvm.tir.SizeVar("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n], "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            result = bb.emit_output(drawn(bb, "randint", [-2, n], [700], "int64"))
        bb.emit_func_output(result)
    vm = relax.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())
    found = vm["main"](tvm.runtime.tensor(np.zeros(4, "float32"))).numpy()
    assert set(found.tolist()) == set(range(-2, 4))
