"""StartArgReductions: a row of nothing but the worst value has a place, too."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import relax, te, topi
from tvm.relax import op
from tvm.tir import interp
from tvm.tir.transform.start_arg_reductions import StartArgReductions

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
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_changes(kind: str, last: bool) -> None:
    x = te.placeholder((2, 5), kind, name="x")
    for make, largest in ((topi.argmax, True), (topi.argmin, False)):
        func = te.create_prim_func([x, make(x, 1, select_last_index=last)])
        after = StartArgReductions()(tvm.IRModule({"main": func}))["main"]
        same = np.full((2, 5), worst(kind, largest))
        found = np.zeros(2, "int32")
        interp.run(after, same, found)
        assert found.tolist() == [4, 4] if last else [0, 0]
        if same.dtype.kind in "iu":
            same[1, 3] ^= 1  # the next value inwards
            interp.run(after, same, found)
            assert found.tolist() == [4 if last else 0, 3]


@pytest.mark.pure
def test_keeps() -> None:
    """Sums, and pairs of sums, start as they did."""
    x, k = te.placeholder((2, 5), "int32", name="x"), te.reduce_axis((0, 5), "k")
    total = te.compute((2,), lambda i: te.sum(x[i, k], axis=k))
    mod = tvm.IRModule({"main": te.create_prim_func([x, total])})
    assert StartArgReductions()(mod)["main"] is mod["main"]


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
