"""What graphs pass to kernels of their own, beside what the kernels' buffers say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax, tir, topi
from tvm.error import ArgumentCountError, DTypeError, ShapeError
from tvm.ir.module import IRModule
from tvm.relax.expr import MatchCast
from tvm.relax.transform.compare_extents import CompareExtents
from tvm.runtime.container import ShapeTuple
from tvm.script import tir as T

pytestmark = pytest.mark.cpu
Info = relax.TensorStructInfo
N, M = tir.Var("n", "int64"), tir.Var("m", "int64")


@T.prim_func(private=True)
def add(a: T.handle, b: T.handle, c: T.handle) -> None:
    T.func_attr({"tir.noalias": True})
    k = T.int64()
    A = T.match_buffer(a, (k,), "float32")
    B = T.match_buffer(b, (k,), "float32")
    C = T.match_buffer(c, (k,), "float32")
    for i in range(k):
        C[i] = A[i] + B[i]


@T.prim_func(private=True)
def longer(a: T.handle, c: T.handle, extra: T.int64) -> None:
    k = T.int64()
    A = T.match_buffer(a, (k,), "float32")
    C = T.match_buffer(c, (k + extra,), "float32")
    for i in range(k):
        C[i] = A[i]


def _module(func: Any, infos: list[Any], out: Any, numbers: Any = None) -> IRModule:
    bb = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", info) for i, info in enumerate(infos)]
    with bb.function("main", params):
        kernel = bb.add_func(func, "kernel")
        with bb.dataflow():
            result = bb.emit_output(relax.call_tir(kernel, params, out, tir_vars=numbers))
        bb.emit_func_output(result)
    return bb.get()


def _vm(mod: IRModule, mode: str) -> Any:
    return relax.VirtualMachine(relax.build(mod, "llvm", exec_mode=mode), tvm.cpu())["main"]


def _ones(count: int) -> Any:
    return tvm.runtime.tensor(np.ones(count, "float32"))


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_two_symbols_that_the_kernel_has_as_one(mode: str) -> None:
    run = _vm(_module(add, [Info((N,), "float32"), Info((M,), "float32")], Info((N,), "float32")),
              mode)  # fmt: skip
    np.testing.assert_array_equal(run(_ones(8), _ones(8)).numpy(), np.full(8, 2, "float32"))
    with pytest.raises(ShapeError, match=r"kernel_extent.* expects extent 8"):
        run(_ones(8), _ones(3))


def test_what_is_the_same_is_not_compared() -> None:
    same = Info((N,), "float32")
    mod = CompareExtents()(_module(add, [same, same], same))
    bindings = mod["main"].body.blocks[0].bindings
    assert not any(isinstance(binding, MatchCast) for binding in bindings)


def test_numbers_and_sums_are_compared_too() -> None:
    run = _vm(_module(longer, [Info((N,), "float32"), ], Info((N + 2,), "float32"), [2]),
              "compiled")  # fmt: skip
    assert run(_ones(3)).numpy().shape == (5,)
    with pytest.raises(ShapeError, match=r"axis 0 of tensor 1 \(C\)"):
        _vm(_module(longer, [Info((N,), "float32")], Info((N + 1,), "float32"), [2]), "compiled")


@pytest.mark.parametrize(("infos", "out", "error", "words"), [
    ([Info((8,), "float32"), Info((3,), "float32")], Info((8,), "float32"), ShapeError,
     r"axis 0 of tensor 1 \(B\)\n  found: T.int64\(3\)"),
    ([Info((N,), "float32"), Info((N,), "float32")], Info((N + 5,), "float32"), ShapeError,
     r"axis 0 of tensor 2 \(C\)"),
    ([Info((N,), "float32"), Info((N, 2), "float32")], Info((N,), "float32"), ShapeError,
     "found: 2 dimensions\n  legal: 1"),
    ([Info((N,), "float32"), Info((N,), "float16")], Info((N,), "float32"), DTypeError,
     "found: float16\n  legal: float32"),
    ([Info((N,), "float32")], Info((N,), "float32"), ArgumentCountError,
     "found: 2 tensors and 0 numbers\n  legal: 3 in all"),
])  # fmt: skip
def test_what_cannot_fit_is_refused(
    infos: list[Any], out: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        CompareExtents()(_module(add, infos, out))


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_a_reshape_to_another_number_of_elements_is_refused_when_run(mode: str) -> None:
    run = _vm(_reshaping(), mode)
    assert run(_ones(8), ShapeTuple([4])).numpy().shape == (4, 2)
    for rows in (3, 5):
        with pytest.raises(ShapeError, match="reshape_extent"):
            run(_ones(8), ShapeTuple([rows]))


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_a_reshape_that_was_legalized_before_is_compared_by_its_kernel(mode: str) -> None:
    mod = relax.transform.LegalizeOps()(_reshaping())
    assert "match_cast" not in mod["main"].script()
    for legal in (mod, relax.get_pipeline("zero")(_reshaping())):
        run = _vm(legal, mode)
        assert run(_ones(8), ShapeTuple([4])).numpy().shape == (4, 2)
        for rows in (3, 5):
            with pytest.raises(ShapeError, match=r"reshape.*_extent"):
                run(_ones(8), ShapeTuple([rows]))


def _reshaping() -> IRModule:
    bb = relax.BlockBuilder()
    x, s = relax.Var("x", Info((N,), "float32")), relax.Var("s", relax.ShapeStructInfo([M]))
    with bb.function("main", [x, s]):
        with bb.dataflow():
            longer = bb.emit(relax.op.reshape(relax.op.exp(x), relax.ShapeExpr([M, 2])))
            result = bb.emit_output(relax.op.exp(longer))
        bb.emit_func_output(result)
    return bb.get()


def test_sums_of_reshaped_tensors_are_no_reshapes() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", Info((N, 6), "float32"))
    with builder.function("main", [x]):
        rows = builder.emit_te(lambda t: topi.sum(topi.reshape(t, (N * 2, 3)), axis=1), x)
        builder.emit_func_output(rows)
    given = np.arange(24, dtype="float32").reshape(4, 6)
    vm = relax.VirtualMachine(tvm.compile(builder.get(), "llvm"), tvm.cpu())
    found = vm["main"](tvm.runtime.tensor(given)).numpy()
    np.testing.assert_array_equal(found, given.reshape(8, 3).sum(1))
