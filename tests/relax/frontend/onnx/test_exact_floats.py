"""Floats of sizes that are exact: as fractions, and what roundings and limits make of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tvm
from tests.relax.frontend.onnx.models import make_model
from tvm import relax, tir
from tvm.arith import Analyzer
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.onnx.exact_floats import (
    exactly,
    float_of,
    fraction_of,
    limited,
    rounded,
    truncated,
)
from tvm.relax.frontend.onnx.known_rules import calculated
from tvm.tir.functor import substitute

SIZE = tir.SizeVar("h", "int64")
node = helper.make_node


def number(expr: Any, size: int) -> int:
    return int(Analyzer().simplify(substitute(expr, {SIZE: tir.const(size, "int64")})).value)


@pytest.mark.parametrize(("up", "below"), [*itertools.product([1, 3, 5], [1, 2, 8])])
def test_roundings_of_fractions(up: int, below: int) -> None:
    item = float_of(SIZE * up - 1, below, "float32")
    for size in (1, 2, 7, 10):
        real = (size * up - 1) / below
        assert number(rounded(item, down=True), size) == np.floor(real)
        assert number(rounded(item, down=False), size) == np.ceil(real)
        assert number(truncated(item), size) == np.trunc(real)


def test_sums_have_the_larger_denominator() -> None:
    half, whole = float_of(SIZE, 2, "float32"), float_of(SIZE + 1, 1, "float32")
    total = exactly(lambda a, b: a - b, [half, whole])
    assert total is not None
    found = fraction_of(total)
    assert found is not None
    assert found[1] == 2
    assert number(found[0], 6) == 6 - 2 * 7


def test_fractions_are_in_lowest_terms() -> None:
    both = fraction_of(float_of(SIZE, 4, "float64") * tir.const(2.0, "float64"))
    assert both is not None
    assert both[1] == 2
    assert number(both[0], 5) == 5


@pytest.mark.parametrize("item", [
    tir.const(0.1, "float32"), tir.const(float("inf"), "float32"), tir.Cast("float16", SIZE),
    tir.Cast("float32", SIZE) * tir.Cast("float32", SIZE), tir.Var("x", "float32"), 3,
])  # fmt: skip
def test_others_are_none(item: Any) -> None:
    assert fraction_of(item) is None


def test_limits_that_hold_are_gone() -> None:
    zero = tir.const(0, "int64")
    assert limited(tir.max)(SIZE, zero) is SIZE
    assert limited(tir.min)(SIZE, zero) is zero
    assert isinstance(limited(tir.max)(SIZE - 3, zero), tir.Max)


def test_limits_as_inputs_of_which_either_may_be_left_out() -> None:
    value = np.empty((), object)
    value[()] = float_of(SIZE - 3, 1, "float32")
    low, high = np.asarray(0, "float32"), np.asarray(4, "float32")
    for limits, wanted in (((low, None), [0, 0, 9]), ((None, high), [-2, 0, 4]),
                           ((low, high), [0, 0, 4])):  # fmt: skip
        found = calculated("Clip", [value, *limits], "float32")
        assert found is not None
        item = rounded(found[()], down=True)
        assert [number(item, size) for size in (1, 3, 12)] == wanted
    assert calculated("Clip", [value], "float32") is None  # limits are attributes there


def padded_as_tensorflow_does(kernel: int, stride: int) -> Any:
    """A window of squares, over data with borders that the model computes in floats."""
    def sizes(axis: int, name: str) -> list[Any]:
        steps: list[tuple[str, list[str], str, dict[str, int]]] = [
            ("Gather", ["s", f"axis{axis}"], "size", {}), ("Cast", ["size"], "real", {"to": 1}),
            ("Div", ["real", "stride"], "share", {}), ("Ceil", ["share"], "out", {}),
            ("Sub", ["out", "one"], "last", {}), ("Mul", ["last", "stride"], "begin", {}),
            ("Add", ["begin", "kernel"], "end", {}), ("Sub", ["end", "real"], "missing", {}),
            ("Clip", ["missing", "nothing", ""], "pad", {}), ("Div", ["pad", "two"], "half", {}),
            ("Cast", ["half"], "before", {"to": 7}), ("Cast", ["before"], "first", {"to": 1}),
            ("Sub", ["pad", "first"], "rest", {}), ("Cast", ["rest"], "after", {"to": 7}),
        ]  # fmt: skip
        made = {output for _, _, output, _ in steps}

        def own(value: str) -> str:
            return name + value if value in made else value

        return [node(op, [own(i) for i in inputs], [own(output)], **attributes)
                for op, inputs, output, attributes in steps]  # fmt: skip

    ends = [node("Unsqueeze", [one, "first"], [f"{one}_"]) for one in
            ("ybefore", "xbefore", "yafter", "xafter")]  # fmt: skip
    widths = ["none", "ybefore_", "xbefore_", "none", "yafter_", "xafter_"]
    nodes = [
        node("Shape", ["x"], ["s"]), *sizes(2, "y"), *sizes(3, "x"), *ends,
        node("Concat", widths, ["pads"], axis=0),
        node("Pad", ["x", "pads"], ["wide"]),
        node("Conv", ["wide", "w"], ["y"], strides=[stride, stride]),
    ]  # fmt: skip
    one = np.float32
    weights = {
        "axis2": np.asarray(2), "axis3": np.asarray(3), "stride": one(stride), "one": one(1),
        "kernel": one(kernel), "nothing": one(0), "two": one(2), "first": np.asarray([0]),
        "none": np.asarray([0, 0]), "w": np.ones((2, 3, kernel, kernel), "float32"),
    }  # fmt: skip
    x = np.zeros((1, 3, 9, 9), "float32")
    return make_model(nodes, {"x": x}, ["y"], weights, 18, {"x": ["n", 3, "h", "w_"]})


@pytest.mark.parametrize(
    ("kernel", "stride"), [(3, 2), (5, 2), (1, 2), (3, 4), (3, 3), (4, 2)]
)
def test_pads_that_are_computed_in_floats(kernel: int, stride: int) -> None:
    model = padded_as_tensorflow_does(kernel, stride)
    mod = from_onnx(model)
    main = mod["main"]
    if stride != 3 and kernel >= stride:  # thirds are no exact floats
        n, _, height, width = main.params[0].struct_info.shape.values
        wanted = [n, 2, (height + (stride - 1)) // stride, (width + (stride - 1)) // stride]
        same = Analyzer()
        found = main.ret_struct_info.shape.values
        assert all(same.can_prove_equal(a, b) for a, b in zip(found, wanted)), found
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    for height, width in ((7, 8), (8, 5), (1, 3), (12, 13)):
        x = np.random.default_rng(height).standard_normal((2, 3, height, width)).astype("float32")
        got = vm["main"](x).numpy()
        out = [-(-size // stride) for size in (height, width)]
        total = [max((n - 1) * stride + kernel - s, 0) for n, s in zip(out, (height, width))]
        wide = np.pad(x, [(0, 0), (0, 0), *((t // 2, t - t // 2) for t in total)])
        view = np.lib.stride_tricks.sliding_window_view(wide, (kernel, kernel), (2, 3))
        want = view[:, :, ::stride, ::stride].sum((1, 4, 5))
        np.testing.assert_allclose(got, np.stack([want, want], 1), rtol=1e-4, atol=1e-4)
