"""Operators whose attributes follow from extents that only running tells, at several sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tvm
from tests.relax.frontend.onnx.models import Array, check_sizes, make_model
from tvm import relax
from tvm.error import TVMError
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(5)
node = helper.make_node
SIZES = [(1, 2, 7, 9), (2, 2, 4, 6), (1, 2, 12, 5)]


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype("float32")


def check_pictures(
    nodes: Sequence[Any], weights: dict[str, Array] | None = None, opset: int = 18,
    sizes: Sequence[tuple[int, ...]] = SIZES, outputs: Sequence[str] = ("y",),
) -> None:  # fmt: skip
    """Nodes on `x` (n, 2, h, w), all but the channels open."""
    runs = [{"x": floats(*size)} for size in sizes]
    shapes: dict[str, list[Any]] = {"x": ["n", 2, "h", "w"]}
    check_sizes(make_model(nodes, runs[0], outputs, weights, opset, shapes), runs, 1e-4)


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_padding_to_the_same(way: str, stride: int) -> None:
    strides = {"strides": [stride] * 2, "auto_pad": way}
    check_pictures([node("LpPool", ["x"], ["y"], kernel_shape=[3, 3], p=3, **strides)])
    turned = node("ConvTranspose", ["x", "w"], ["y"], **strides)
    check_pictures([turned], {"w": floats(2, 3, 3, 3)})


def test_places_of_the_largest_with_padding_to_the_same() -> None:
    largest = node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3, 2], strides=[2, 2],
                   auto_pad="SAME_UPPER")  # fmt: skip
    check_pictures([largest], outputs=["y", "i"])


@pytest.mark.parametrize("way", ["NOTSET", "SAME_UPPER"])
def test_transposed_to_an_asked_shape(way: str) -> None:
    made = node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], output_shape=[13, 12],
                auto_pad=way)  # fmt: skip
    sizes = [(1, 2, 6, 6), (2, 2, 7, 6)]
    check_pictures([made], {"w": floats(2, 3, 3, 3)}, sizes=sizes)


def test_back_where_the_largest_were() -> None:
    nodes = [
        node("MaxPool", ["x"], ["a", "i"], kernel_shape=[2, 2], strides=[2, 2]),
        node("MaxUnpool", ["a", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    check_pictures(nodes, sizes=[(1, 2, 6, 4), (2, 2, 4, 8)])


def test_the_largest_of_an_open_axis() -> None:
    for axis in (2, -1):
        check_pictures([node("Hardmax", ["x"], ["y"], axis=axis)])
    check_pictures([node("Hardmax", ["x"], ["y"], axis=1)], opset=11)


def test_splits() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]), node("Gather", ["s", "three"], ["w"]),
        node("Sub", ["w", "two"], ["rest"]), node("Concat", ["two", "rest"], ["parts"], axis=0),
        node("Split", ["x", "parts"], ["y", "z"], axis=3),
    ]  # fmt: skip
    weights = {"three": np.array([3]), "two": np.array([2])}
    check_pictures(nodes, weights, outputs=["y", "z"])
    equal = node("Split", ["x"], ["y", "z", "v"], axis=3, num_outputs=3)
    check_pictures([equal], outputs=["y", "z", "v"])


def test_triangles_from_an_open_diagonal() -> None:
    for upper in (0, 1):
        nodes = [
            node("Shape", ["x"], ["s"], start=2, end=3), node("Neg", ["s"], ["m"]),
            node("Add", ["m", "three"], ["k1"]), node("Squeeze", ["k1"], ["k"]),
            node("Trilu", ["x", "k"], ["y"], upper=upper),
        ]  # fmt: skip
        check_pictures(nodes, {"three": np.array([3])})


def test_middles() -> None:
    nodes = [
        node("Shape", ["x"], ["s"], start=3, end=4),
        node("Concat", ["s", "six"], ["to"], axis=0),
        node("CenterCropPad", ["x", "to"], ["y"], axes=[2, 3]),
    ]
    check_pictures(nodes, {"six": np.array([6])})


@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
def test_windows_as_long_as_an_axis(op: str, periodic: int) -> None:
    nodes = [
        node("Shape", ["x"], ["s"], start=2, end=3), node("Squeeze", ["s"], ["n"]),
        node(op, ["n"], ["y"], periodic=periodic),
    ]  # fmt: skip
    check_pictures(nodes)


@pytest.mark.parametrize("corners", [0, 1])
def test_grids_of_pictures(corners: int) -> None:
    nodes = [
        node("Shape", ["x"], ["s"]), node("Shape", ["x"], ["n"], end=1),
        node("Concat", ["n", "two", "three"], ["to"], axis=0), node("Expand", ["t", "to"], ["th"]),
        node("AffineGrid", ["th", "s"], ["g"], align_corners=corners),
        node("GridSample", ["x", "g"], ["y"], align_corners=corners, mode="linear"),
    ]  # fmt: skip
    theta = np.array([[[0.9, 0.2, 0.1], [-0.2, 0.8, 0]]], "float32")
    weights = {"t": theta, "two": np.array([2]), "three": np.array([3])}
    check_pictures(nodes, weights, 20)


def test_regions_with_as_many_places_as_they_need() -> None:
    boxes = np.array([[0, 0, 3, 3], [1, 1, 3.5, 2]], "float32")
    weights = {"r": boxes, "b": np.array([0, 0])}
    made = node("RoiAlign", ["x", "rr", "b"], ["y"], output_height=2, output_width=2)
    # the regions are computed, so that importing does not know them
    mean = [node("ReduceMean", ["x"], ["m"], keepdims=0), node("Mul", ["m", "zero"], ["z"]),
            node("Add", ["r", "z"], ["rr"])]  # fmt: skip
    check_pictures([*mean, made], weights | {"zero": np.float32(0)})


def test_patches_put_back() -> None:
    """As `torch.nn.functional.fold` is exported: (n, c * taps, blocks) to pictures."""
    nodes = [
        node("Shape", ["x"], ["s"], start=2, end=4), node("Concat", ["x"] * 4, ["wide"], axis=1),
        node("Shape", ["x"], ["n"], end=1), node("Concat", ["n", "eight"], ["to"], axis=0),
        node("Reshape", ["wide", "to"], ["rows"]), node("Mul", ["s", "two"], ["size"]),
        node("Col2Im", ["rows", "size", "block"], ["y"], strides=[2, 2]),
    ]  # fmt: skip
    weights = {"eight": np.array([8, -1]), "two": np.array([2]), "block": np.array([2, 2])}
    check_pictures(nodes, weights)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("outside", [0, 1])
def test_resize_with_a_kernel_as_wide_as_the_scale_asks(mode: str, outside: int) -> None:
    how: dict[str, Any] = {"mode": mode, "antialias": 1, "exclude_outside": outside}
    scales = {"s": np.array([1, 1, 0.4, 1.5], "float32")}
    check_pictures([node("Resize", ["x", "", "s"], ["y"], **how)], scales)
    smaller = [node("Shape", ["x"], ["n"], end=2), node("Concat", ["n", "to"], ["size"], axis=0),
               node("Resize", ["x", "", "", "size"], ["y"], **how)]  # fmt: skip
    check_pictures(smaller, {"to": np.array([3, 4])})


def test_resize_by_computed_scales_with_a_wide_kernel() -> None:
    nodes = [
        node("ReduceMean", ["x"], ["m"], keepdims=0), node("Mul", ["m", "zero"], ["z"]),
        node("Add", ["s", "z"], ["scales"]),
        node("Resize", ["x", "", "scales"], ["y"], mode="linear", antialias=1),
    ]  # fmt: skip
    weights = {"s": np.array([1, 1, 0.4, 0.7], "float32"), "zero": np.float32(0)}
    check_pictures(nodes, weights)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("computed", [False, True])
def test_resize_of_a_part(mode: str, computed: bool) -> None:
    """Bounds may be computed too; some of what is asked for lies outside."""
    how: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize",
                           "extrapolation_value": 7.0}  # fmt: skip
    weights = {"r": np.array([0, 0, 0.2, -0.1, 1, 1, 0.8, 1.2], "float32"),
               "to": np.array([3, 4]), "zero": np.float32(0)}  # fmt: skip
    bounds = [node("ReduceMean", ["x"], ["m"], keepdims=0), node("Mul", ["m", "zero"], ["z"]),
              node("Add", ["r", "z"], ["part"])]  # fmt: skip
    size = [node("Shape", ["x"], ["n"], end=2), node("Concat", ["n", "to"], ["size"], axis=0)]
    made = node("Resize", ["x", "part" if computed else "r", "", "size"], ["y"], **how)
    check_pictures([*(bounds if computed else []), *size, made], weights)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_a_cache_that_is_written_to(mode: str) -> None:
    written = node("TensorScatter", ["c", "u", "i"], ["y"], mode=mode)
    runs = [
        {"c": floats(2, 3, longest, 4), "u": floats(2, 3, new, 4),
         "i": np.array([1, longest - new])}
        for longest, new in ((6, 2), (9, 5))
    ]  # fmt: skip
    shapes: dict[str, list[Any]] = {"c": ["b", "h", "m", "d"], "u": ["b", "k", "n", "d"]}
    check_sizes(make_model([written], runs[0], ["y"], opset=24, shapes=shapes), runs)


def test_matrices_of_open_size() -> None:
    """Determinants and inverses; two extents that have to be one are checked as it runs."""
    nodes = [node("Det", ["x"], ["y"]),
             node("Inverse", ["x"], ["z"], domain="com.microsoft")]  # fmt: skip
    given = [{"x": floats(2, n, n) + 3 * np.eye(n, dtype="float32")[::-1]} for n in (1, 4, 9)]
    model = make_model(nodes, given[0], ["y", "z"], shapes={"x": ["b", "n", "n"]})
    check_sizes(model, given, 1e-4)
    loose = make_model([nodes[0]], given[0], ["y"], shapes={"x": ["b", "n", "m"]})
    run = relax.VirtualMachine(tvm.compile(from_onnx(loose), "llvm"), tvm.cpu())["main"]
    np.testing.assert_allclose(
        run(given[1]["x"]).numpy(), np.linalg.det(given[1]["x"]), rtol=1e-4
    )
    with pytest.raises(TVMError, match="Det"):
        run(floats(2, 3, 4))


def test_a_slice_whose_bounds_cross() -> None:
    nodes = [node("Slice", ["x", "from", "to", "axes"], ["y"])]
    weights = {"from": np.array([1, 2]), "to": np.array([-1, -1]), "axes": np.array([2, 3])}
    sizes = [(1, 2, 7, 9), (2, 2, 1, 6), (1, 2, 4, 2), (1, 2, 1, 1)]
    check_pictures(nodes, weights, sizes=sizes)


@pytest.mark.parametrize("inner", ["k", 4])
def test_an_asked_extent_may_be_one(inner: str | int) -> None:
    """Where the extent of `s` is 1, the expanded tensor keeps its own."""
    nodes = [node("Shape", ["s"], ["to"]),
             node("Expand", ["x", "to"], ["wide"], name="Expand_0"),
             node("Exp", ["wide"], ["y"])]  # fmt: skip
    runs = [{"x": floats(*x), "s": floats(*s)}
            for x, s in (((2, 4), (1, 1)), ((1, 4), (3, 4)), ((3, 4), (3, 4)))]  # fmt: skip
    model = make_model(nodes, runs[0], ["y"], shapes={"x": ["n", inner], "s": ["m", "l"]})
    check_sizes(model, runs)
    run = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())["main"]
    with pytest.raises(TVMError, match="Expand"):
        run(floats(3, 4), floats(2, 4))


def test_many_extents_that_may_all_be_one() -> None:
    """Tensors of a batch each, as caches of layers are declared; each step has a symbol."""
    count = 8
    nodes = []
    for i in range(1, count):
        nodes += [node("Add", [f"y{i - 1}" if i > 1 else "x0", f"x{i}"], [f"s{i}"]),
                  node("Softmax", [f"s{i}"], [f"y{i}"], axis=-1)]  # fmt: skip
    ones = [{3, 5}, set(range(count)), set(), {0, 1, 2, 7}]
    runs = [{f"x{i}": floats(1 if i in one else 3, 4) for i in range(count)} for one in ones]
    shapes: dict[str, list[Any]] = {f"x{i}": [f"n{i}", 4] for i in range(count)}
    check_sizes(make_model(nodes, runs[0], [f"y{count - 1}"], shapes=shapes), runs)
