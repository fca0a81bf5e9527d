"""Largest and smallest elements of rows of nothing but infinities, and of no elements at all."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import dlight, relax, te, topi
from tvm.relax import interp, op


def graph(kind: str, extents: Any) -> tvm.IRModule:
    bb = relax.BlockBuilder()
    a, b = (relax.Var(name, relax.TensorStructInfo(extents, kind)) for name in "ab")
    with bb.function("main", [a, b]):
        with bb.dataflow():
            both = relax.Tuple([bb.emit(op.max(a, 1)), bb.emit(op.min(b, 1, keepdims=True))])
            out = bb.emit_output(both)
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.cpu
@pytest.mark.parametrize(
    "kind", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "float8_e4m3fn"]
)
@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell"])
def test_programs_that_run(kind: str, cpu: str) -> None:
    mod = graph(kind, [tvm.tir.Var(name, "int64") for name in "nm"])
    vm = relax.VirtualMachine(tvm.compile(mod, f"llvm -mcpu={cpu}"), tvm.cpu())
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    elif dtype.itemsize == 1:
        low, high = -448, 448
    else:
        low, high = -np.inf, np.inf
    for columns in (0, 1, 37):
        given = [np.full((3, columns), value).astype(dtype) for value in (low, high)]
        for results in (vm["main"](*map(tvm.runtime.tensor, given)), interp.run(mod, *given)):
            largest, smallest = (np.asarray(getattr(r, "numpy", lambda r=r: r)()) for r in results)
            np.testing.assert_array_equal(largest, np.full(3, low).astype(dtype))
            np.testing.assert_array_equal(smallest, np.full((3, 1), high).astype(dtype))


@pytest.mark.pure
def test_legalised_by_itself_it_starts_from_a_finite_number() -> None:
    text = relax.transform.LegalizeOps()(graph("float32", [2, 5])).script()
    assert "T.float32(-340282346638528859811704183484516925440.0)" in text
    assert '"inf"' not in text
    assert '"-inf"' not in text


@pytest.mark.pure
@pytest.mark.parametrize("mcpu", ["haswell", "znver4"])
@pytest.mark.parametrize("shape", [(64, 256), (64, 3)])
def test_both_are_scheduled_alike(mcpu: str, shape: tuple[int, int]) -> None:
    x = te.placeholder(shape, "float32", name="x")
    reasons = []
    for made in (topi.max(x, 1), topi.reduction.extreme(x, 1, False, largest=True)):
        with tvm.target.Target(f"llvm -mcpu={mcpu} -num-cores=2"):
            found = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(
                tvm.IRModule({"main": te.create_prim_func([x, made])})
            )
        reasons.append(found["main"].attrs["schedule_reason"])
    assert reasons[0] == reasons[1]


@pytest.mark.pure
@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2", "int8"])
def test_numbers_without_infinities_start_as_they_did(kind: str) -> None:
    x = te.placeholder((2, 3), kind, name="x")
    plain = te.create_prim_func([x, topi.min(x, 1)])
    tvm.ir.assert_structural_equal(
        te.create_prim_func([x, topi.reduction.extreme(x, 1, False, largest=False)]), plain
    )
