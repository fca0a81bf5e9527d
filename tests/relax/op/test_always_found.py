"""Where pipelines legalise argmax and argmin, a row of nothing but the worst value has a place."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import dlight, relax, te, topi
from tvm.relax import op
from tvm.tir import interp
from tvm.topi.reduction import index_of_extreme

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
        func = te.create_prim_func([x, index_of_extreme(x, 1, False, largest)])
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
    x = te.placeholder((2, 5), "int8", name="x")
    func = te.create_prim_func([x, make(x, 1)])
    same, found = np.full((2, 5), worst("int8", largest)), np.zeros(2, "int32")
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


@pytest.mark.pure
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_kernels_of_pipelines_find_the_first_nan(kind: str) -> None:
    x = te.placeholder((4, 5), kind, name="x")
    values = np.arange(20.0).reshape(4, 5)
    values[0] = np.nan
    values[1, [2, 4]] = np.nan
    values[2, 0] = np.nan
    data = values.astype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
    for largest, expected in ((True, np.argmax(values, 1)), (False, np.argmin(values, 1))):
        func = te.create_prim_func([x, index_of_extreme(x, 1, False, largest)])
        found = np.zeros(4, "int32")
        interp.run(func, data, found)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.cpu
@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", "znver4"])
@pytest.mark.parametrize("open_sizes", [False, True])
def test_compiled_graphs_find_the_first_nan(cpu: str, open_sizes: bool) -> None:
    """Rows split over lanes and tails: NaN in each, wherever they are put together."""
    m, n = (tvm.tir.Var("m", "int64"), tvm.tir.Var("n", "int64")) if open_sizes else (9, 37)
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((m, n), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            found = bb.emit_output((op.argmax(x, 1), op.argmin(x, 1)))
        bb.emit_func_output(found)
    vm = relax.VirtualMachine(tvm.compile(bb.get(), f"llvm -mcpu={cpu}"), tvm.cpu())
    values = np.random.default_rng(5).standard_normal((9, 37)).astype("float32")
    for row, columns in enumerate(([], [0], [36], [15, 16], [20, 33], range(37), range(16, 37))):
        values[row, list(columns)] = np.nan
    largest, smallest = vm["main"](tvm.runtime.tensor(values))
    np.testing.assert_array_equal(largest.numpy(), np.argmax(values, 1))
    np.testing.assert_array_equal(smallest.numpy(), np.argmin(values, 1))


@pytest.mark.pure
@pytest.mark.parametrize("mcpu", ["haswell", "znver4"])
def test_rows_are_searched_by_vectors_and_threads(mcpu: str) -> None:
    x = te.placeholder((64, 256), "float32", name="x")
    func = te.create_prim_func([x, index_of_extreme(x, 1, False, largest=True)])
    with tvm.target.Target(f"llvm -mcpu={mcpu} -num-cores=2"):
        found = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(
            tvm.IRModule({"main": func})
        )
    assert "vectors along the reduction" in found["main"].attrs["schedule_reason"]
    assert "T.vectorized" in found["main"].script()
