from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.topi.numerics import close, evaluate
from tvm import te, topi
from tvm.tir import interp
from tvm.topi import utils

pytestmark = pytest.mark.pure


def test_constants_of_expressions() -> None:
    n = te.var("n")
    assert utils.get_const_int(te.const(2) * 3 + 1) == 7
    assert utils.get_const_float(te.const(2.5, "float32")) == 2.5
    assert utils.get_const_tuple([te.const(4), 5, n]) == (4, 5, n)
    assert utils.get_float_tuple([te.const(0.5, "float32")]) == (0.5,)
    assert utils.equal_const_int(n - n, 0)
    with pytest.raises(ValueError, match=r"Expect value to be constant int"):
        utils.get_const_int(n)
    with pytest.raises(ValueError, match=r"constant float"):
        utils.get_const_float(n)


def test_layout_questions() -> None:
    assert utils.nchw_xc_layout("NCHW16c")
    assert not utils.nchw_xc_layout("NCHW")
    assert utils.nchw_pack_layout("NCHW1n16c")
    assert utils.ncw_xc_layout("NCW4c")
    assert utils.ncw_pack_layout("NCW1n4c")
    assert utils.get_shape((1, 2, 3, 4), "NCHW", "NHWC") == (1, 3, 4, 2)
    assert utils.layout_axes("NCHW16c", "HW", "pool2d") == [2, 3]
    with pytest.raises(tvm.TVMError, match=r"unsplit axis W"):
        utils.layout_axes("NCHW4w", "HW", "pool2d")


def test_axes() -> None:
    assert utils.normal_axes([-1, 0, 2], 3, "f") == [0, 2]
    assert utils.normal_axes(None, 2, "f") == [0, 1]
    with pytest.raises(IndexError, match=r"f: axis 3\n.*3 dimensions\n.*-3 <= axis < 3"):
        utils.normal_axis(3, 3, "f")


def test_numbers() -> None:
    assert utils.get_max_power2_factor(48) == 16
    assert utils.get_max_power2_factor(48, 4) == 4
    assert utils.swap([1, 2, 3, 4], 1) == [1, 4, 3, 2]
    assert interp.evaluate(utils.ceil_div(te.const(7), 2)) == 4
    assert utils.is_empty_shape([te.const(0), 3])
    assert utils.is_dynamic_shape([te.var("n"), 3])
    assert utils.get_const_int(utils.prod([te.const(2), 3, 4])) == 24


def test_indices_of_an_element() -> None:
    number, shape = te.var("k"), (3, 4, 5)
    for k in range(60):
        found = [interp.evaluate(i, {number: k}) for i in utils.unravel_index(number, shape)]
        assert tuple(found) == np.unravel_index(k, shape)


def test_constants_as_stages() -> None:
    values = np.array([3, 1, 4], "int32")
    close(evaluate(lambda a: topi.add(utils.const_vector(values), a), np.zeros(3, "int32")), values)
    matrix = np.arange(6, dtype="float32").reshape(2, 3)
    close(evaluate(lambda a: a + utils.const_matrix(matrix), np.zeros((2, 3), "float32")), matrix)


def test_traverse_inline() -> None:
    a = te.placeholder((4,))
    b = topi.nn.relu(a)
    c = topi.add(b, 1.0)
    inlined, seen = [], []

    class Stage:
        def __init__(self, op: te.Operation) -> None:
            self.op = op

        def compute_inline(self) -> None:
            inlined.append(self.op)

    class Schedule(dict):
        def __missing__(self, op: te.Operation) -> Stage:
            return Stage(op)

    utils.traverse_inline(Schedule(), c.op, seen.append)
    assert seen == [c.op, b.op]
    assert inlined == [b.op]


def test_current_target() -> None:
    assert not utils.is_target("llvm")
    with tvm.target.Target("llvm"):
        assert utils.is_target(["cuda", "cpu"])
