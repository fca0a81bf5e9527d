"""Where pipelines legalise argmax and argmin, a row of nothing but the worst value has a place."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import relax, te, topi
from tvm.relax import op
from tvm.tir import interp
from tvm.topi.reduction import place_of_extreme

KINDS = ("bool", "uint8", "int8", "int32", "int64", "uint64", "float16", "bfloat16", "float32")


def worst(kind: str, largest: bool) -> Any:
    """What no element of the type is beyond."""
    dtype = np.dtype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
    if dtype.kind == "b":
        return np.array(not largest)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array(limits.min if largest else limits.max, dtype)
    return np.array(-np.inf if largest else np.inf).astype(dtype)


@pytest.mark.pure
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_of_pipelines_find_a_place_in_every_row(kind: str) -> None:
    x = te.placeholder((2, 5), kind, name="x")
    for largest in (True, False):
        func = te.create_prim_func([x, place_of_extreme(x, 1, False, largest)])
        same = np.full((2, 5), worst(kind, largest))
        found = np.zeros(2, "int32")
        interp.run(func, same, found)
        assert found.tolist() == [0, 0]
        if same.dtype.kind in "iu":
            same[1, 3] ^= 1  # the next value inwards
            interp.run(func, same, found)
            assert found.tolist() == [0, 3]


@pytest.mark.cpu
@pytest.mark.parametrize(("make", "largest"), [(topi.argmax, True), (topi.argmin, False)])
def test_kernels_by_themselves_mean_what_they_say(make: Any, largest: bool) -> None:
    """A kernel that starts from place -1 is not rewritten: compiled, it is as interpreted."""
    x = te.placeholder((2, 5), "uint8", name="x")
    func = te.create_prim_func([x, make(x, 1)])
    same, found = np.full((2, 5), worst("uint8", largest)), np.zeros(2, "int32")
    interp.run(func, same, found)
    assert found.tolist() == [-1, -1]
    out = tvm.runtime.empty((2,), "int32")
    tvm.compile(func, "llvm")["main"](tvm.runtime.tensor(same), out)
    np.testing.assert_array_equal(out.numpy(), found)


@pytest.mark.cpu
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 1), (4, 33), ("n", "m")])
def test_compiled(kind: str, shape: tuple[int | str, ...]) -> None:
    known = {d: tvm.tir.Var(d, "int64") for d in shape if isinstance(d, str)}
    bb = relax.BlockBuilder()
    extents = [known[d] if isinstance(d, str) else d for d in shape]
    a, b = (relax.Var(name, relax.TensorStructInfo(extents, kind)) for name in "ab")
    with bb.function("main", [a, b]):
        with bb.dataflow():
            both = relax.Tuple([bb.emit(op.argmax(a, 1)), bb.emit(op.argmin(b, 1))])
            out = bb.emit_output(both)
        bb.emit_func_output(out)
    vm = relax.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())
    sizes = [7 if isinstance(d, str) else d for d in shape]
    given = [np.full(sizes, worst(kind, largest)) for largest in (True, False)]
    for found in vm["main"](*map(tvm.runtime.tensor, given)):
        assert not found.numpy().any()
