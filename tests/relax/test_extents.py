"""Extents that are compared as a program runs."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax, tir
from tvm.error import ShapeError
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Var
from tvm.relax.extents import agreeing, broadcast, common_extent, extents_of, with_extents
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir.expr import IntImm


def _symbols(count: int) -> list[tir.SizeVar]:
    return [tir.SizeVar(name, "int64") for name in "mnkl"[:count]]


@pytest.mark.pure
def test_what_is_known_needs_no_check() -> None:
    m, n = _symbols(2)
    bb, one, four = BlockBuilder(), IntImm("int64", 1), IntImm("int64", 4)
    bb.begin_binding_block()
    assert common_extent(bb, m, m) is m
    assert common_extent(bb, one, n) is n
    assert common_extent(bb, n, one) is n
    assert common_extent(bb, four, four) is four
    assert not bb.end_block().bindings


@pytest.mark.pure
def test_values_that_fit_stay_as_they_are() -> None:
    m, n = _symbols(2)
    bb = BlockBuilder()
    a, b = (Var(name, TensorStructInfo(shape, "float32")) for name, shape in
            (("a", [m, n]), ("b", [1, n])))  # fmt: skip
    bb.begin_scope([a, b])
    bb.begin_binding_block()
    assert broadcast(bb, [a, b]) == [a, b]
    assert agreeing(bb, a, [None, n]) is a
    assert not bb.end_block().bindings


@pytest.mark.pure
def test_long_expressions_get_one_name() -> None:
    """Each pass that meets an extent simplifies it; the same expression has the same symbol."""
    (m,) = _symbols(1)
    bb = BlockBuilder()
    bb.begin_scope([Var("x", TensorStructInfo([m], "float32"))])
    bb.begin_binding_block()
    short, long = m // 3 + 1, sum((m // k * m for k in range(2, 40)), m)
    values = [with_extents(bb, op.zeros((extent, 2), "float32")) for extent in (short, long, long)]
    first, second, third = (extents_of(value) for value in values)
    assert first is not None
    assert second is not None
    assert third is not None
    assert not isinstance(first[0], tir.Var)
    assert isinstance(second[0], tir.Var)
    assert third[0] is second[0]
    bb.end_block()
    bb.end_scope()


@pytest.mark.cpu
def test_one_symbol_for_both() -> None:
    m, n = _symbols(2)
    bb = BlockBuilder()
    a, b = (Var(name, TensorStructInfo([extent, 2], "float32")) for name, extent in
            (("a", m), ("b", n)))  # fmt: skip
    with bb.function("main", [a, b]):
        with bb.dataflow():
            both = broadcast(bb, [a, b])
            shapes = [extents_of(value) for value in both]
            assert shapes[0] is not None
            assert shapes[1] is not None
            assert shapes[0][0] is shapes[1][0]
            result = bb.emit_output(op.subtract(*both))
        bb.emit_func_output(result)
    vm = relax.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())
    for rows in ((3, 3), (1, 3), (3, 1)):
        x, y = (np.random.default_rng(0).random((count, 2)).astype("float32") for count in rows)
        np.testing.assert_array_equal(vm["main"](x, y).numpy(), x - y)
    with pytest.raises(ShapeError):
        vm["main"](np.zeros((2, 2), "float32"), np.zeros((3, 2), "float32"))


@pytest.mark.cpu
@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_every_axis_may_be_one_in_either(mode: str) -> None:
    shapes = [_symbols(3), [tir.SizeVar(name, "int64") for name in "abc"]]
    bb = BlockBuilder()
    params = [Var(f"x{i}", TensorStructInfo(shape, "float32")) for i, shape in enumerate(shapes)]
    with bb.function("main", params):
        with bb.dataflow():
            x, y = broadcast(bb, params)
            result = bb.emit_output(op.exp(op.subtract(x, y)))
        bb.emit_func_output(result)
    built = relax.build(bb.get(), "llvm", exec_mode=mode)
    main = relax.VirtualMachine(built, tvm.cpu())["main"]
    rng = np.random.default_rng(3)
    for code in range(27):
        pairs = [((e, e), (1, e), (e, 1))[code // 3**axis % 3] for axis, e in enumerate((2, 3, 37))]
        a, b = (rng.random([pair[i] for pair in pairs], "float32") for i in (0, 1))
        np.testing.assert_allclose(main(a, b).numpy(), np.exp(a - b), rtol=1e-5)
    a, b = np.zeros((2, 3, 5), "float32"), np.zeros((2, 4, 5), "float32")
    with pytest.raises(ShapeError, match="dimension 0"):
        main(a, b)


def test_a_broadcast_extent_tells_its_parts() -> None:
    """k of m and n is what m, n or both are broadcast to again, without a check or a symbol."""
    m, n, other = _symbols(3)
    bb = BlockBuilder()
    params = [Var(s.name, TensorStructInfo([s], "float32")) for s in (m, n, other)]
    with bb.function("main", params):
        k = common_extent(bb, m, n)
        assert k is not m
        for a, b in ((k, m), (m, k), (k, n), (k, common_extent(bb, n, m))):
            assert common_extent(bb, a, b) is k
        wider = common_extent(bb, k, other)
        assert wider is not k
        assert common_extent(bb, m, wider) is wider
        assert common_extent(bb, k, wider) is wider
        bb.emit_func_output(params[0])
