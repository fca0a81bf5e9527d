"""Odd cases of taking and slicing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax, te, tir, topi
from tvm.error import ShapeError, TVMError
from tvm.ir import Op
from tvm.ir.structural import structural_equal
from tvm.relax import interp, op
from tvm.relax.interp import Interpreter
from tvm.relax.op.for_programs import FOR_PROGRAMS
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


@pytest.mark.parametrize(
    ("begin", "end", "stride"),
    [(0, 5, 1), (1, -1, 2), (-3, 100, 1), (-1, -100, -1), (4, 1, -2), (3, 3, 1), (5, 2, 1),
     (-100, 3, 1), (100, 0, -3)],
)  # fmt: skip
def test_lengths_are_those_of_numpy(begin: int, end: int, stride: int) -> None:
    call = op.strided_slice(var(7), [0], [begin], [end], [stride])
    expected = np.arange(7)[slice(begin, None if end < -7 else end, stride)]
    assert shape_of(call) == (len(expected),)


def test_symbolic_slices() -> None:
    call = op.strided_slice(var(N, 4), [0], [0], [N // 2])
    assert tir.interp.evaluate(shape_of(call)[0], {N: 9}) == 4
    whole = op.strided_slice(var(N, 4), [1], [1], [3], assume_inbound=True)
    assert shape_of(whole) == (N, 2)


def test_operands_of_slices_are_tuples_of_numbers() -> None:
    call = op.strided_slice(var(7), [0], relax.PrimValue(1), 3)
    assert all(isinstance(arg, relax.Tuple) for arg in call.args[1:])
    assert shape_of(call) == (2,)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: op.strided_slice(var(7), [0, 0], [0, 1], [2, 2]), "names a dimension twice"),
        (lambda: op.strided_slice(var(7), [1], [0], [2]), "axes is out of range"),
        (lambda: op.strided_slice(var(7), [0], [0, 1], [2]), "differ in length"),
        (lambda: op.strided_slice(var(7), [0], [0], [2], [0]), "a stride is 0"),
        (lambda: op.take(var(2, 3), var(2, dtype="int64")), "without an axis"),
        (lambda: op.take(var(2, 3), var(2), 0), "indices must be integers"),
        (lambda: op.take(var(2, 3), var(2, dtype="int64"), 2), "axis is out of range"),
        (lambda: op.dynamic_strided_slice(var(2, 3), *[var(3, dtype="int64")] * 3),
         "one number for each dimension"),
        (lambda: op.dynamic_strided_slice(var(2, 3), *[var(2)] * 3), "begin must be int64"),
    ],
)  # fmt: skip
def test_refusals(call: object, text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(call())


@pytest.mark.parametrize(
    ("mode", "expected"), [("clip", [2, 0]), ("wrap", [1, 2]), ("nan", [np.nan, 2])]
)
def test_modes_of_take(mode: str, expected: list[float]) -> None:
    x, places = np.float32([0, 1, 2]), np.int64([4, -1])
    call = op.take(var(3), var(2, dtype="int64"), mode=mode)
    found = Op.get("relax.take").get_attr("FReference")(call, [x, places])
    np.testing.assert_array_equal(found, np.float32(expected))


def test_dynamic_slice() -> None:
    call = op.dynamic_strided_slice(var(4, 3), *[var(2, dtype="int64")] * 3)
    found = info(call)
    assert (found.values, found.ndim) == (None, 2)
    x = np.arange(12).reshape(4, 3)
    out = Op.get("relax.dynamic_strided_slice").get_attr("FReference")(
        call, [x, np.int64([1, 0]), np.int64([4, 3]), np.int64([2, 1])]
    )
    np.testing.assert_array_equal(out, x[1:4:2])


def test_dynamic_slice_legalised() -> None:
    x = var(6, 4)
    bounds = [var(2, dtype="int64", name=name) for name in ("begin", "end", "strides")]
    bb = relax.BlockBuilder()
    with bb.function("main", [x, *bounds], pure=False):
        call = bb.normalize(op.dynamic_strided_slice(x, *bounds))
        bb.emit_func_output(bb.emit(FOR_PROGRAMS["relax.dynamic_strided_slice"](bb, call)))
    packed = {"vm.builtin.tensor_to_shape": lambda t: interp.Shape(int(n) for n in t)}
    run = interp.Interpreter(bb.get(), packed)
    data = np.arange(24, dtype="float32").reshape(6, 4)
    for begin, end, strides in (([1, 0], [6, 4], [2, 1]), ([5, -1], [-9, 0], [-2, -1])):
        found = run.run("main", data, np.int64(begin), np.int64(end), np.int64(strides))
        rows = slice(begin[0], None if end[0] < -6 else end[0], strides[0])
        np.testing.assert_array_equal(found, data[rows, begin[1] : end[1] : strides[1]])


@pytest.mark.parametrize(
    ("begin", "end", "stride", "wanted"),
    [
        (0, N - 1, 1, tir.min(tir.max(tir.if_then_else(N < 1, N * 2 - 1, N - 1), 0), N)),
        (1, N, 1, tir.max(N - 1, 0)),
        (0, -1, 1, tir.min(tir.max(N - 1, 0), N)),
        (0, N, 2, (N + 1) // 2),
        (-1, N, 1, tir.min(1, N)),
        (0, 8, 1, tir.min(8, N)),
    ],
)
def test_symbolic_slices_are_short(begin: Any, end: Any, stride: int, wanted: Any) -> None:
    x = var(N, 4)
    bb = relax.BlockBuilder()
    bb.begin_scope([x])  # where extents are known not to be negative
    found = bb.normalize(op.strided_slice(x, [0], [begin], [end], [stride])).struct_info
    assert structural_equal(found.values[0], wanted), found


@pytest.mark.parametrize("stride", [1, 2, -1, -3])
@pytest.mark.parametrize("end", [-4, -2, -1, 0, 2, 5])
@pytest.mark.parametrize("begin", [-4, -1, 0, 1, 3])
def test_literal_bounds_may_cross_in_a_short_extent(begin: int, end: int, stride: int) -> None:
    found = info(op.strided_slice(var(N, 4), [0], [begin], [end], [stride])).values[0]
    data = te.placeholder((N, 4), name="data")
    same = topi.strided_slice(data, [begin], [end], [stride], [0], assume_inbound=False).shape[0]
    for many in range(8):
        stop = None if stride < 0 and end < -many else end
        wanted = len(range(many)[begin:stop:stride])
        assert [tir.interp.evaluate(e, {N: many}) for e in (found, same)] == [wanted, wanted], many


Q, SIZE = tir.Var("q", "int64"), tir.SizeVar("sz", "int64")


@pytest.mark.parametrize(
    ("extent", "begin", "end", "text"),
    [
        (N, 2, 5, "T.min(T.int64(5), n) - T.min(T.int64(2), n)"),
        (10, Q, 10, "T.max(T.int64(10) - T.max(T.if_then_else(q < T.int64(0), q + T.int64(10), q), "
         "T.int64(0)), T.int64(0))"),
        (10, SIZE, 10, "T.max(T.int64(10) - sz, T.int64(0))"),
    ],
)  # fmt: skip
def test_symbolic_bounds(extent: Any, begin: Any, end: Any, text: str) -> None:
    assert str(info(op.strided_slice(var(extent, 3), [0], [begin], [end])).values[0]) == text


def test_symbolic_strides_have_an_extent() -> None:
    found = info(op.strided_slice(var(10, 3), [0], [0], [10], [Q])).values[0]
    inbound = info(op.strided_slice(var(10, 3), [0], [0], [10], [Q], assume_inbound=True)).values[0]
    assert [tir.interp.evaluate(found, {Q: q}) for q in (1, 3, 20)] == [10, 4, 1]
    assert [tir.interp.evaluate(inbound, {Q: q}) for q in (1, 3, 20)] == [10, 4, 1]
    assert str(inbound) == "(q + T.int64(9)) // q"
    assert str(found) == (
        "T.if_then_else(q < T.int64(0), T.int64(-10) // (T.int64(0) - q) + T.int64(1), "
        "(q + T.int64(9)) // q)"
    )
    sized = info(op.strided_slice(var(10, 3), [0], [0], [10], [SIZE])).values[0]
    assert str(sized) == "T.int64(9) // sz + T.int64(1)"


@pytest.mark.parametrize("bounds", [(-20, 20), (8, 1)], ids=["forward", "backward"])
def test_strides_of_either_sign_run(bounds: tuple[int, int]) -> None:
    x, by = var(10), relax.Var("by", R.Prim(value=Q))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, by]):
        bb.emit_func_output(bb.emit(op.strided_slice(x, [0], *([b] for b in bounds), [Q])))
    mod = relax.transform.LegalizeOps()(bb.get())
    values = np.arange(10, dtype="float32")
    for q in (1, 3, 20) if bounds[0] < bounds[1] else (-1, -3, -20):
        found = Interpreter(mod).run("main", values, q)
        np.testing.assert_array_equal(found, values[slice(*bounds, q)])


def test_slices_that_are_refused() -> None:
    with pytest.raises(ShapeError, match="differ in length"):
        op.strided_slice(var(4), [0], [0], [])
    bounds = [var(2, dtype="int64") for _ in range(3)]
    with pytest.raises(TVMError, match="axes must be a tuple of integers"):
        info(op.strided_slice(var(4, 4), *bounds))
    assert info(op.dynamic_strided_slice(relax.Var("x", R.Tensor("float32")), *bounds)).ndim == -1


def test_the_shape_of_a_dynamic_slice_is_found_by_a_pure_call() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 4), "float32"), b: R.Tensor((2,), "int64")):
            with R.dataflow():
                y = R.dynamic_strided_slice(x, b, b, b)
                R.output(y)
            return y

    found = relax.transform.LegalizeOps()(Module)
    assert relax.analysis.well_formed(found)
    assert 'R.call_pure_packed("vm.builtin.tensor_to_shape"' in found.script()
